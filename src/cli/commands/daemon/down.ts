import { findDaemonProcess, isDaemonProcess, stopDaemonProcess } from '../../../app/daemon-process.ts'
import type { Millis } from '../../../domain/clock.ts'
import { HeddleError } from '../../../domain/errors.ts'
import { countNoun } from '../../../domain/text/count-noun.ts'
import { type Daemon, findDaemon } from '../../../gateway/client.ts'
import { homePaths } from '../../../home/home.ts'
import type { CommandContext, Register } from '../../command.ts'

/** A daemon waits up to 30 seconds for a locked database before it ends. */
const stopTimeout: Millis = 45_000
const countTimeout: Millis = 5_000
const lookEvery: Millis = 50
const maxCounted = 1000

export const registerDown: Register = (program, run) => {
  program
    .command('down')
    .helpGroup('SET UP')
    .description('stop the daemon; unfinished work continues when you start it again')
    .action(run(down))
}

/** Ends the daemon of this home, and waits until it has ended. */
async function down(here: CommandContext) {
  const deadline = here.clock.monotonic() + stopTimeout
  const daemon = await findStartedDaemon(here, deadline)
  if (!daemon) return { json: { ok: true, pid: null, runs: 0 }, text: 'no daemon is running in this home' }
  const { pid } = daemon.health
  const runs = await Promise.race([countRuns(daemon), here.clock.sleep(countTimeout).then(() => undefined)])
  stopDaemonProcess(pid)
  await waitForEnd(here, pid, deadline)
  return {
    json: { ok: true, pid, runs: runs ?? null },
    text: `daemon stopped (process ${pid})${formatUnfinished(runs)}`,
  }
}

/** The daemon, once it answers; undefined without one. Throws if it does not answer in time. */
async function findStartedDaemon({ home, clock }: CommandContext, deadline: Millis): Promise<Daemon | undefined> {
  const { run } = homePaths(home)
  let isSilent = false
  const onSilence = () => {
    isSilent = true
  }
  for (let holder = findDaemonProcess(run); holder; holder = findDaemonProcess(run)) {
    const daemon = await findDaemon(run, { clock, onSilence })
    if (daemon) return daemon
    if (isSilent || clock.monotonic() > deadline) throw hangs(holder.pid, 'does not answer')
    // It starts, or stops already.
    await clock.sleep(lookEvery)
  }
  return undefined
}

async function waitForEnd({ home, clock }: CommandContext, pid: number, deadline: Millis): Promise<void> {
  const { run } = homePaths(home)
  const isThere = () => findDaemonProcess(run)?.pid === pid || isDaemonProcess(pid)
  while (isThere()) {
    if (clock.monotonic() > deadline) throw hangs(pid, `was asked to stop, and has not within ${stopTimeout / 1000} s`)
    await clock.sleep(lookEvery)
  }
}

/** Runs that have not ended; undefined if the daemon cannot tell. */
async function countRuns(daemon: Daemon): Promise<number | undefined> {
  const found = await daemon.runs({ limit: maxCounted }).catch(() => undefined)
  return found?.rows.length
}

function formatUnfinished(runs: number | undefined): string {
  if (runs === 0) return ''
  const what =
    runs === undefined
      ? 'unfinished work continues'
      : `${countNoun(runs, 'run')} ${runs === 1 ? 'continues' : 'continue'}`
  return `; ${what} when you start it again    heddle up`
}

function hangs(pid: number | undefined, what: string): HeddleError {
  return new HeddleError(
    'daemon_hangs',
    `the daemon (process ${pid ?? 'unknown'}) ${what}`,
    `kill it: kill -9 ${pid ?? 'its process'}; nothing stored is lost, and unfinished work continues when you start it again`,
  )
}
