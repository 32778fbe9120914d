// What the person at the screen prefers, kept in this browser; the zone may also come with the address.
import { router } from './router.svelte'

type Theme = 'system' | 'light' | 'dark'

function stored(name: string): string | null {
  try {
    return localStorage.getItem(`jobbie.${name}`)
  } catch {
    return null
  }
}
function store(name: string, value: string) {
  try {
    localStorage.setItem(`jobbie.${name}`, value)
  } catch {
    // It holds until the page is left.
  }
}

export function validZone(zone: string): boolean {
  if (zone === 'local') return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

class Prefs {
  theme = $state<Theme>((stored('theme') as Theme | null) ?? 'system')
  zone = $state('local')

  constructor() {
    const asked = new URLSearchParams(location.search).get('zone') ?? stored('zone')
    if (asked && validZone(asked)) this.zone = asked
  }
  setTheme(theme: Theme) {
    this.theme = theme
    store('theme', theme)
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
  }
  setZone(zone: string) {
    if (!validZone(zone)) return
    this.zone = zone
    store('zone', zone)
    if (router.get('zone')) router.set({ zone }, { replace: true })
  }
  get dark() {
    if (this.theme !== 'system') return this.theme === 'dark'
    return matchMedia('(prefers-color-scheme: dark)').matches
  }
}

export const prefs = new Prefs()
