// The time, once a second, for everything that says how long ago something was.
class Clock {
  now = $state(Date.now())
  constructor() {
    setInterval(() => {
      if (!document.hidden) this.now = Date.now()
    }, 1000)
  }
}

export const clock = new Clock()
