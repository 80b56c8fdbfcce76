import type { RequestAnswer } from '../api/views/question.ts'
import type { WorkInProgress } from '../api/views/run.ts'
import type { Millis } from '../domain/clock.ts'
import type { CommandContext } from './command.ts'
import { terminalPane } from './terminal/pane.ts'
import { paint } from './terminal/screen.ts'

/** Max wait for the session summary: the caller waits for the command to exit. */
const summaryTimeout: Millis = 20_000
const noticeDelay: Millis = 700

/** After the answer is shown, waits for the session summary for a limited time, then stops the work. */
export async function waitForSummary(
  here: CommandContext,
  work: WorkInProgress | undefined,
  { status, folder }: Pick<RequestAnswer, 'status' | 'folder'>,
): Promise<void> {
  const enough = new AbortController()
  let isTooLong = false
  void here.clock.sleep(summaryTimeout, enough.signal).then(() => enough.abort())
  const pane = here.screen.isTerminal && !here.json ? terminalPane(here.screen, here.io.stdout) : undefined
  const explain = () => pane?.show(paint(here.screen, 'dim', 'writing the session summary… Ctrl-C to skip'))
  try {
    if (status !== 'completed' || here.stopped.aborted) return
    // Usually done before the notice would appear.
    void here.clock.sleep(noticeDelay, enough.signal).then(() => !enough.signal.aborted && explain())
    await work?.whenNarrated(folder, AbortSignal.any([here.stopped, enough.signal]))
    isTooLong = enough.signal.aborted && !here.stopped.aborted
    if (isTooLong) await work?.cancelNarration(folder)
  } finally {
    enough.abort()
    pane?.close()
    if (isTooLong && pane) here.tell('session summary skipped (timeout); a running daemon writes it in the background')
    await work?.stop()
  }
}
