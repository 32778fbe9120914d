// The screens: their place in the address, in the menu, and the keys that lead there.
import type { Component } from 'svelte'
import { session } from './session.svelte'

export interface Screen {
  name: string
  path: string
  key: string
  icon: string
  section: number
  load: () => Promise<{ default: Component<Record<string, never>> }>
  /** The scope without which there is nothing to do. */
  needs?: 'produce' | 'admin'
}

const screen = (name: string, path: string, key: string, icon: string, section: number, load: () => Promise<unknown>, needs?: Screen['needs']) =>
  ({ name, path, key, icon, section, load, needs }) as Screen

// Icons are paths on a field of 16 by 16, stroked.
export const SCREENS: Screen[] = [
  screen('Overview', '/', 'o', 'M2 9h3l2-5 3 9 2-4h2', 0, () => import('../screens/Overview.svelte')),
  screen('Queues', '/queues', 'q', 'M2.5 4h11M2.5 8h11M2.5 12h6', 0, () => import('../screens/Queues.svelte')),
  screen('Jobs', '/jobs', 'j', 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5l3 3', 0, () => import('../screens/Jobs.svelte')),
  screen('Errors', '/errors', 'e', 'M8 2.5l6 10.5H2zM8 6.5v3M8 11.4v.1', 0, () => import('../screens/Errors.svelte')),
  screen('Schedules', '/schedules', 's', 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.6', 1, () => import('../screens/Schedules.svelte')),
  screen('Batches', '/batches', 'b', 'M8 2l5.5 3L8 8 2.5 5zM2.5 8L8 11l5.5-3M2.5 11L8 14l5.5-3', 1, () => import('../screens/Batches.svelte')),
  screen('Groups', '/groups', 'r', 'M5 7a2.2 2.2 0 1 0 0-4.4A2.2 2.2 0 0 0 5 7zM11.5 8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6zM1.5 13c0-2 1.5-3.4 3.5-3.4S8.5 11 8.5 13M10 10.4c2.5-.6 4.5.6 4.5 2.6', 1, () => import('../screens/Groups.svelte')),
  screen('Bulk', '/bulk', 'u', 'M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 11h4M11 9v4', 1, () => import('../screens/Bulk.svelte')),
  screen('Workers', '/workers', 'w', 'M2.5 3.5h11v4h-11zM2.5 9.5h11v3h-11zM5 5.5h.1M5 11h.1', 2, () => import('../screens/Workers.svelte')),
  screen('Cluster', '/cluster', 'c', 'M8 5.5a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4zM3.5 13.8a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4zM12.5 13.8a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4zM7.2 5.3l-2.8 5.3M8.8 5.3l2.8 5.3M5.2 12.1h5.6', 2, () => import('../screens/Cluster.svelte')),
  screen('Events', '/events', 'v', 'M2 8h2M6 8h.1M9 8h.1M12 8h2M4 4.5h8M4 11.5h8', 2, () => import('../screens/Events.svelte')),
  screen('Webhooks', '/webhooks', 'h', 'M6.5 9.5l3-3M7 4.5l1.5-1.5a3 3 0 0 1 4.5 4.5L11.5 9M9 11.5L7.5 13A3 3 0 0 1 3 8.5L4.5 7', 2, () => import('../screens/Webhooks.svelte'), 'admin'),
  screen('Keys', '/keys', 'k', 'M10.5 9a3.5 3.5 0 1 0-3.3-2.3L2.5 11.4v2.1h2.6v-1.8h1.8V9.9l1-1A3.5 3.5 0 0 0 10.5 9zM11 5.5h.1', 2, () => import('../screens/Keys.svelte')),
  screen('New job', '/new', 'n', 'M8 3v10M3 8h10', 3, () => import('../screens/NewJob.svelte'), 'produce'),
]

export const mayOpen = ({ needs }: Screen) => (needs === 'admin' ? session.mayAdmin : needs !== 'produce' || session.mayProduce)

const DETAILS: Record<string, Screen['load']> = {
  queues: () => import('../screens/Queue.svelte') as never,
  jobs: () => import('../screens/Job.svelte') as never,
  bulk: () => import('../screens/BulkDetail.svelte') as never,
  schedules: () => import('../screens/ScheduleEdit.svelte') as never,
  batches: () => import('../screens/Batch.svelte') as never,
  webhooks: () => import('../screens/Webhook.svelte') as never,
}

/** What is at a path; null: nothing. */
export function screenAt(parts: string[]): Screen['load'] | null {
  if (parts.length === 2 && DETAILS[parts[0]]) return DETAILS[parts[0]]
  return SCREENS.find((s) => s.path === `/${parts.join('/')}`)?.load ?? null
}
