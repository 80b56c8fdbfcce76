import type { FileThreads } from '../../files/file-threads.ts'
import type { GuardedState, GuardFindings, GuardRequest } from '../../guard/exec-guard.ts'
import { host } from './host.ts'

type GuardRecord = GuardRequest & { before: GuardedState }

/** Records written before each command, so that the next process can clean up after a crash. */
export interface GuardRecords {
  write(request: GuardRecord): Promise<{ remove(): Promise<void> }>
  /** States before all commands that have not been checked yet, of every process of the home. */
  unfinished(): Promise<GuardedState[]>
}

/** A file that a killed process's command left behind, and its new path; both relative to the folder. */
export interface LeftoverFile {
  folder: string
  path: string
  to: string
}

let recordCount = 0

/** Records in a directory of the home; the name of each begins with the process that wrote it. */
export function guardRecordsIn(directory: string): GuardRecords {
  return {
    async write(request) {
      const file = `${directory}/${process.pid}-${++recordCount}.json`
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

/** Checks commands whose process was killed before it could. Returns the files moved aside, with their folder. */
export async function checkAfterCrashes(directory: string, threads: FileThreads): Promise<LeftoverFile[]> {
  const found: LeftoverFile[] = []
  for (const name of await host.names(directory)) {
    const pid = Number(/^(\d+)-\d+\.json$/.exec(name)?.[1])
    if (Number.isNaN(pid) || (pid !== process.pid && host.isAlive(pid))) continue
    const text = await host.text(`${directory}/${name}`)
    const request = text === undefined ? undefined : readRecord(text)
    const findings = request && (await checkAfterCommand(threads, request))
    // Nothing to check in a folder that is gone.
    const isGone = request && (await host.realPath(request.before.folder)) === undefined
    if (findings?.unseen.length === 0 || isGone || !request) await host.remove(`${directory}/${name}`)
    for (const moved of findings?.movedAside ?? []) found.push({ folder: request?.before.folder ?? '', ...moved })
  }
  return found
}

/** Undefined for an incomplete record: its command was never started. */
function readRecord(text: string): GuardRecord | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Checks what a command left behind; not abortable, however the command ended. */
export async function checkAfterCommand(
  threads: FileThreads,
  request: GuardRecord,
): Promise<GuardFindings | undefined> {
  const findings = await threads
    .perform({ undoHiddenChanges: request }, new AbortController().signal)
    .catch(() => undefined)
  return findings === 'late' ? undefined : findings
}
