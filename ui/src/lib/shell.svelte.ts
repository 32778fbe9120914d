// What belongs to the whole window: which overlay is open, and the actions a screen offers to the palette.
import { untrack } from 'svelte'

export interface Command {
  name: string
  hint?: string
  run: () => void
}

class Shell {
  palette = $state(false)
  help = $state(false)
  menu = $state(false)
  /** Of the screen that is shown, and of its parts. */
  offers = $state.raw<Command[][]>([])
}

export const shell = new Shell()

/** For the life of a component: these are in the palette. */
export function offer(commands: () => Command[]) {
  $effect(() => {
    const mine = commands()
    shell.offers = [...untrack(() => shell.offers), mine]
    return () => {
      shell.offers = shell.offers.filter((offered) => offered !== mine)
    }
  })
}
