import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Coverage } from '../domain/approval.ts'
import { HeddleError } from '../domain/errors.ts'
import type { FilePlace, FoundFile } from '../domain/path-handle.ts'
import type { Call, Preview, ToolOutcome } from '../domain/tool.ts'
import { shownPath } from '../domain/visible.ts'
import { refuseGuarded } from './guarded-places.ts'
import { headBytes, kindOfText } from './text-kind.ts'
import { unifiedDiff } from './unified-diff.ts'

/** What a tool makes of a file. Must answer the same for the same file: a call may be repeated. */
export type Make = (before: FoundFile | undefined, shown: string) => Buffer

/** What somebody grants who says yes for more than one change: the path is the model's to choose, the folder is not. */
export function coversWriting({ handle }: Pick<Call, 'handle'>): Promise<Coverage> {
  return handle('path').replaceFile(async ({ folder }) => {
    const answer = {
      tool: 'write_file',
      folder,
      cwd: folder,
      pattern: JSON.stringify({ path: '**' }),
      confinement: null,
    }
    return { fate: 'kept', answer }
  })
}

/** Makes a change and keeps it, with what was there before. */
export async function changeFile(call: Call, make: Make): Promise<ToolOutcome> {
  const { change } = call
  if (!change) throw new HeddleError('forbidden', 'no file can be changed here', 'tell the user what should be changed')
  const handle = call.handle('path')
  const { path, sha256 } = await change(handle, (place) => made(place, make, handle.shown))
  return { status: 'ok', output: { status: 'ok', path: handle.shown, sha256 }, seen: [{ path, sha256 }] }
}

/** What a change would be, and the file that it would be made to. */
export function previewChange(call: Call, make: Make): Promise<Preview> {
  const handle = call.handle('path')
  return handle.replaceFile(async (place) => {
    const { before } = place
    const path = pathOf(place)
    const after = textIn(made(place, make, handle.shown))
    const change = unifiedDiff(path, before && textIn(before.bytes, `[${before.bytes.length} binary bytes]\n`), after)
    const facts = [
      { name: 'where', value: shownPath(join(place.folder, path)) },
      { name: 'does', value: before ? 'changes this file' : 'makes this file' },
    ]
    return { fate: 'kept', answer: { facts, change, frozen: { path, before: before ? hashOf(before.bytes) : null } } }
  })
}

/** All of a text, its byte order mark included. */
function textIn(bytes: Buffer, otherwise = bytes.toString()): string {
  const kind = kindOfText(bytes.subarray(0, headBytes))
  return 'binary' in kind ? otherwise : new TextDecoder(kind.encoding, { ignoreBOM: true }).decode(bytes)
}

function made(place: FilePlace, make: Make, shown: string): Buffer {
  refuseGuarded(place)
  return make(place.before, shown)
}

/** As changes are kept by it: from the folder on, whatever links led there. */
export function pathOf({ names }: Pick<FilePlace, 'names'>): string {
  return names.join('/')
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
