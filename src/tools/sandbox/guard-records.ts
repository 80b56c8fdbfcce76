import type { GuardedState, GuardFindings, GuardRequest } from '../exec-guard.ts'
import type { FileThreads } from '../file-threads.ts'
import { host } from './host.ts'

type Recorded = GuardRequest & { before: GuardedState }

/** What is written down before a command, so that whoever comes after a crash can still look after it. */
export interface GuardRecords {
  write(request: Recorded): Promise<{ remove(): Promise<void> }>
  /** What was there before the commands that have not been looked after yet, of every process of the home. */
  unfinished(): Promise<GuardedState[]>
}

/** Something that a killed process's command left behind, and where it was moved to; paths from the folder on. */
export interface LeftBehind {
  folder: string
  path: string
  to: string
}

let written = 0

/** Records in a directory of the home; the name of each begins with the process that wrote it. */
export function guardRecordsIn(directory: string): GuardRecords {
  return {
    async write(request) {
      const file = `${directory}/${process.pid}-${++written}.json`
      await host.writeText(file, JSON.stringify(request))
      return { remove: () => host.remove(file) }
    },
    async unfinished() {
      const texts = await Promise.all((await host.names(directory)).map((name) => host.text(`${directory}/${name}`)))
      return texts
        .flatMap((text) => (text === undefined ? [] : [readRecord(text)]))
        .flatMap((each) => each?.before ?? [])
    },
  }
}

/** Looks after commands whose process was killed before it could. Answers what was moved aside, with its folder. */
export async function lookAfterCrashes(directory: string, threads: FileThreads): Promise<LeftBehind[]> {
  const found: LeftBehind[] = []
  for (const name of await host.names(directory)) {
    const pid = Number(/^(\d+)-\d+\.json$/.exec(name)?.[1])
    if (Number.isNaN(pid) || (pid !== process.pid && host.isAlive(pid))) continue
    const text = await host.text(`${directory}/${name}`)
    const request = text === undefined ? undefined : readRecord(text)
    const findings = request && (await lookAfter(threads, request))
    // A folder that is gone has nothing left to look after.
    const isGone = request && (await host.realPath(request.before.folder)) === undefined
    if (findings?.unseen.length === 0 || isGone || !request) await host.remove(`${directory}/${name}`)
    for (const moved of findings?.movedAside ?? []) found.push({ folder: request?.before.folder ?? '', ...moved })
  }
  return found
}

/** Undefined for one that was cut off while it was written: its command was never started. */
function readRecord(text: string): Recorded | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whatever ended the command, what it left behind is looked at to the end. */
export async function lookAfter(threads: FileThreads, request: Recorded): Promise<GuardFindings | undefined> {
  const findings = await threads
    .perform({ undoHiddenChanges: request }, new AbortController().signal)
    .catch(() => undefined)
  return findings === 'late' ? undefined : findings
}
