import { join, normalize } from 'node:path'
import { agentDirectories } from '../../domain/agent.ts'
import type { Coverage } from '../../domain/approval.ts'
import { HeddleError } from '../../domain/errors.ts'
import { quotePath } from '../../domain/text/visible.ts'
import type { FileContent, FileLocation } from '../../domain/tools/path-handle.ts'
import type { Call, Preview, SinkCall, ToolOutcome } from '../../domain/tools/tool.ts'
import { refuseGuarded } from '../guard/guarded-places.ts'
import { hashOf } from './content-hash.ts'
import { headBytes, kindOfText } from './text-kind.ts'
import { unifiedDiff } from './unified-diff.ts'

/** Computes the new content of a file. Must be deterministic: a call may be repeated. */
export type MakeContent = (before: FileContent | undefined, shown: string) => Buffer

/** A file in an agent directory could become an agent of the folder. */
export function agentFileSink(path: string): SinkCall | undefined {
  const below = normalize(`/${path.toLowerCase()}`)
  return agentDirectories.some((directory) => below.includes(`/${directory}/`)) ? { sink: 'agents' } : undefined
}

/** Coverage of a grant for writing: any path in this folder. */
export function writingCoverage({ handle }: Pick<Call, 'handle'>): Promise<Coverage> {
  return handle('path').replaceFile(async ({ folder }) => {
    const answer = {
      tool: 'write_file',
      folder,
      cwd: folder,
      pattern: JSON.stringify({ path: '**' }),
      confinement: null,
    }
    return { state: 'kept', answer }
  })
}

/** Changes a file, and stores the old and the new content. `keepsRest`: the new one has parts of the old one. */
export async function changeFile(call: Call, make: MakeContent, keepsRest: boolean): Promise<ToolOutcome> {
  const { change } = call
  if (!change) throw new HeddleError('forbidden', 'no file can be changed here', 'tell the user what should be changed')
  const handle = call.handle('path')
  const seen = await change(handle, (place) => makeContent(place, make, handle.shown), keepsRest)
  return { status: 'ok', output: { status: 'ok', path: handle.shown, sha256: seen.sha256 }, seen: [seen] }
}

/** Preview of a change. */
export function previewChange(call: Call, make: MakeContent): Promise<Preview> {
  const handle = call.handle('path')
  return handle.replaceFile(async (place) => {
    const { before } = place
    const path = pathOf(place)
    const after = toText(makeContent(place, make, handle.shown))
    const change = unifiedDiff(path, before && toText(before.bytes, `[${before.bytes.length} binary bytes]\n`), after)
    const facts = [
      { name: 'where', value: quotePath(join(place.folder, path)) },
      { name: 'does', value: before ? 'changes this file' : 'creates this file' },
    ]
    return { state: 'kept', answer: { facts, change, frozen: { path, before: before ? hashOf(before.bytes) : null } } }
  })
}

/** The text including its byte order mark. */
function toText(bytes: Buffer, otherwise = bytes.toString()): string {
  const kind = kindOfText(bytes.subarray(0, headBytes))
  return 'binary' in kind ? otherwise : new TextDecoder(kind.encoding, { ignoreBOM: true }).decode(bytes)
}

function makeContent(place: FileLocation, make: MakeContent, shown: string): Buffer {
  refuseGuarded(place)
  return make(place.before, shown)
}

/** Path under which changes are stored: relative to the folder, with links resolved. */
export function pathOf({ names }: Pick<FileLocation, 'names'>): string {
  return names.join('/')
}
