import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Clock } from '../../src/domain/clock.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { ChangeFile, ToolOutcome } from '../../src/domain/tools/tool.ts'
import { systemClock } from '../../src/system.ts'
import { makeCall, prepareCall } from '../../src/tools/call.ts'
import { pathOf } from '../../src/tools/files/change-file.ts'
import { hashOf } from '../../src/tools/files/content-hash.ts'
import { fileTools } from '../../src/tools/files/file-tools.ts'

/** What must never be seen: it lies beside the folder, in content and in a name. */
export const canary = 'CANARY-e5b1'

/** Lets every change be made, and keeps nothing of it. */
export const changeFreely: ChangeFile = (handle, make) =>
  handle.replaceFile(async (place) => {
    const bytes = make(place)
    return { state: { bytes }, answer: { path: pathOf(place), sha256: hashOf(bytes) } }
  })

/** A session's folder with files, a neighbour that no tool may reach, and the tools as a model calls them. */
export interface TestFolder {
  path: string
  outside: string
  write(files: Record<string, string | Uint8Array>): void
  call(name: string, input: unknown, signal?: AbortSignal): Promise<ToolOutcome>
  /** The text that a call answers; fails when it was refused. */
  text(name: string, input: unknown): Promise<string>
  remove(): void
}

export function newFolder(files: Record<string, string | Uint8Array> = {}, clock: Clock = systemClock): TestFolder {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-files-')))
  const [path, outside] = [join(place, 'folder'), join(place, 'folder-beside')]
  // What belongs to the runtime, should it lie inside.
  const protect = { ...nothingProtected, hidden: [join(path, 'off-limits')], readOnly: [join(path, 'read-only')] }
  const known = new Map(fileTools(clock).map((tool) => [tool.name, tool]))
  mkdirSync(path)
  mkdirSync(outside)
  writeFileSync(join(outside, 'secret.txt'), `${canary}\n`)
  writeFileSync(join(outside, `${canary}.txt`), `${canary}\n`)
  const folder: TestFolder = {
    path,
    outside,
    write(more) {
      for (const [name, content] of Object.entries(more)) {
        mkdirSync(dirname(join(path, name)), { recursive: true })
        writeFileSync(join(path, name), content)
      }
    },
    async call(name, input, signal = new AbortController().signal) {
      const ready = prepareCall({ id: 'call', name, input }, known, [...known.keys()])
      if ('refused' in ready) return ready.refused
      return makeCall(ready, { runId: 'run', callId: 'call', signal, folder: path, protect, change: changeFreely })
    },
    async text(name, input) {
      const { status, output } = await folder.call(name, input)
      if (status !== 'ok' || typeof output !== 'string') throw new Error(`${name}: ${JSON.stringify(output)}`)
      return output
    },
    remove: () => rmSync(place, { recursive: true, force: true }),
  }
  folder.write(files)
  return folder
}
