// Who is at the screen: the API key in use, if any, and what it may do.
const NAME = 'jobbie.key'

function stored(): string {
  try {
    return sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME) ?? ''
  } catch {
    return ''
  }
}

class Session {
  key = $state(stored())
  /** The server wants a key, and has none or another one. */
  wanted = $state(false)
  #later = false
  auth = $state(false)
  scopes = $state<string[] | null>(null)
  /** Of the key in use. */
  keyId = $state('')
  queues = $state<string[]>(['*'])

  get readOnly() {
    return this.scopes !== null && !this.scopes.includes('manage') && !this.scopes.includes('admin')
  }
  get mayProduce() {
    return this.mayAdmin || this.scopes!.includes('produce')
  }
  get mayAdmin() {
    return this.scopes === null || this.scopes.includes('admin')
  }
  /** The key is for some queues: what is asked for has to name them. */
  get limited() {
    return !this.mayAdmin && !this.queues.includes('*')
  }
  refused() {
    if (!this.#later) this.wanted = true
  }
  later() {
    this.#later = true
    this.wanted = false
  }
  use(key: string, remember: boolean) {
    this.key = key
    this.wanted = this.#later = false
    try {
      sessionStorage.setItem(NAME, key)
      if (remember) localStorage.setItem(NAME, key)
      else localStorage.removeItem(NAME)
    } catch {
      // It holds until the page is left.
    }
  }
  forget() {
    this.key = ''
    try {
      sessionStorage.removeItem(NAME)
      localStorage.removeItem(NAME)
    } catch {
      // There was nowhere to keep it.
    }
    // What the key let in goes with it.
    location.reload()
  }
}

export const session = new Session()
