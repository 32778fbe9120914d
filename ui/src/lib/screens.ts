// The screens: their place in the address, in the menu, and the keys that lead there.
import type { Component } from 'svelte'

export interface Screen {
  name: string
  path: string
  key: string
  icon: string
  section: number
  load: () => Promise<{ default: Component<Record<string, never>> }>
}

const screen = (name: string, path: string, key: string, icon: string, section: number, load: () => Promise<unknown>) =>
  ({ name, path, key, icon, section, load }) as Screen

// Icons are paths on a field of 16 by 16, stroked.
export const SCREENS: Screen[] = [
  screen('Overview', '/', 'o', 'M2 9h3l2-5 3 9 2-4h2', 0, () => import('../screens/Overview.svelte')),
  screen('Queues', '/queues', 'q', 'M2.5 4h11M2.5 8h11M2.5 12h6', 0, () => import('../screens/Queues.svelte')),
  screen('Jobs', '/jobs', 'j', 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5l3 3', 0, () => import('../screens/Jobs.svelte')),
  screen('Errors', '/errors', 'e', 'M8 2.5l6 10.5H2zM8 6.5v3M8 11.4v.1', 0, () => import('../screens/Errors.svelte')),
  screen('Schedules', '/schedules', 's', 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.6', 1, () => import('../screens/Schedules.svelte')),
  screen('Batches', '/batches', 'b', 'M8 2l5.5 3L8 8 2.5 5zM2.5 8L8 11l5.5-3M2.5 11L8 14l5.5-3', 1, () => import('../screens/Batches.svelte')),
  screen('Groups', '/groups', 'r', 'M5 7a2.2 2.2 0 1 0 0-4.4A2.2 2.2 0 0 0 5 7zM11.5 8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6zM1.5 13c0-2 1.5-3.4 3.5-3.4S8.500 11 8.500 13M10 10.400c2.500-.6 4.500.6 4.500 2.600', 1, () => import('../screens/Groups.svelte')),
  screen('Bulk', '/bulk', 'u', 'M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 11h4M11 9v4', 1, () => import('../screens/Bulk.svelte')),
  screen('Workers', '/workers', 'w', 'M2.5 3.500h11v4h-11zM2.500 9.500h11v3h-11zM5 5.500h.1M5 11h.1', 2, () => import('../screens/Workers.svelte')),
  screen('Cluster', '/cluster', 'c', 'M8 5.500a1.700 1.700 0 1 0 0-3.400 1.700 1.700 0 0 0 0 3.400zM3.500 13.800a1.700 1.700 0 1 0 0-3.400 1.700 1.700 0 0 0 0 3.400zM12.500 13.800a1.700 1.700 0 1 0 0-3.400 1.700 1.700 0 0 0 0 3.400zM7.200 5.300l-2.800 5.300M8.800 5.300l2.800 5.300M5.200 12.100h5.600', 2, () => import('../screens/Cluster.svelte')),
  screen('Events', '/events', 'v', 'M2 8h2M6 8h.1M9 8h.1M12 8h2M4 4.500h8M4 11.500h8', 2, () => import('../screens/Events.svelte')),
  screen('Keys', '/keys', 'k', 'M10.500 9a3.500 3.500 0 1 0-3.300-2.300L2.500 11.400v2.100h2.600v-1.800h1.800V9.900l1-1A3.500 3.500 0 0 0 10.500 9zM11 5.500h.1', 2, () => import('../screens/Keys.svelte')),
  screen('New job', '/new', 'n', 'M8 3v10M3 8h10', 3, () => import('../screens/NewJob.svelte')),
]

const DETAILS: Record<string, Screen['load']> = {
  queues: () => import('../screens/Queue.svelte') as never,
  jobs: () => import('../screens/Job.svelte') as never,
  bulk: () => import('../screens/BulkDetail.svelte') as never,
  schedules: () => import('../screens/ScheduleEdit.svelte') as never,
  batches: () => import('../screens/Batch.svelte') as never,
}

/** What is at a path; null: nothing. */
export function screenAt(parts: string[]): Screen['load'] | null {
  if (parts.length === 2 && DETAILS[parts[0]]) return DETAILS[parts[0]]
  return SCREENS.find((s) => s.path === `/${parts.join('/')}`)?.load ?? null
}
