import type { Answered, WorkInProgress } from '../domain/app.ts'
import type { Millis } from '../domain/clock.ts'
import type { Here } from './cli.ts'
import { terminalPane } from './pane.ts'
import { paint } from './screen.ts'

/** Somebody may wait for the command to end. */
const longestNoting: Millis = 20_000
const soonEnough: Millis = 700

/** The answer stands there; what goes with a talk, such as noting where it stands, has a moment more. */
export async function noteAndLeave(
  here: Here,
  work: WorkInProgress | undefined,
  { status, folder }: Pick<Answered, 'status' | 'folder'>,
): Promise<void> {
  const enough = new AbortController()
  let isTooLong = false
  void here.clock.sleep(longestNoting, enough.signal).then(() => enough.abort())
  const pane = here.screen.isTerminal && !here.json ? terminalPane(here.screen, here.io.stdout) : undefined
  const explain = () => pane?.show(paint(here.screen, 'dim', 'noting where things stand… Ctrl-C leaves it for later'))
  try {
    if (status !== 'completed' || here.stopped.aborted) return
    // Mostly it is done before anybody wonders.
    void here.clock.sleep(soonEnough, enough.signal).then(() => !enough.signal.aborted && explain())
    await work?.narrated(folder, AbortSignal.any([here.stopped, enough.signal]))
    isTooLong = enough.signal.aborted && !here.stopped.aborted
    if (isTooLong) await work?.giveUpNarrating(folder)
  } finally {
    enough.abort()
    pane?.close()
    if (isTooLong && pane)
      here.tell('where things stand was not noted: it took too long. heddle up notes it beside your work')
    await work?.stop()
  }
}
