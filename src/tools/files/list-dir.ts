import { z } from 'zod'
import type { Tool } from '../../domain/tools/tool.ts'
import { defineTool } from '../define-tool.ts'
import { type FileThreads, jobTimeout } from './file-threads.ts'
import type { Listing } from './listing.ts'

const maxBytes = 48_000

const input = () => z.strictObject({ path: z.string().describe('relative to the folder; . is the folder itself') })

/** Lists a directory. */
export function listDir(threads: FileThreads): Tool<z.output<ReturnType<typeof input>>> {
  return defineTool(input, {
    name: 'list_dir',
    description:
      'Lists a directory: directories first, each with a trailing slash, then files with their size in bytes. Entries that ' +
      '.gitignore and .ignore hide are left out and counted.',
    effect: 'pure',
    paths: ['path'],
    async run(_, call) {
      const handle = call.handle('path')
      const listing = await threads.perform({ list: handle.address }, call.signal)
      if (listing !== 'late')
        return { status: 'ok', output: renderListing(handle.shown, listing), shows: { names: listing.paths } }
      const error = `listing ${handle.shown} was stopped after ${jobTimeout / 1000} s`
      return { status: 'error', output: { status: 'error', error, remedy: 'list a directory below it' } }
    },
  })
}

function renderListing(shown: string, { entries, more, atLeast, ignored }: Listing): string {
  const lines: string[] = []
  let left = maxBytes
  for (const line of entries) {
    left -= Buffer.byteLength(line) + 1
    if (left < 0) break
    lines.push(line)
  }
  const cut = more + entries.length - lines.length
  const hidden = ignored > 0 ? `${ignored} ignored` : ''
  if (lines.length === 0) return `[${shown} is empty${hidden && `: ${hidden}`}]`
  if (cut > 0 || atLeast)
    lines.push(
      `… [cut: ${atLeast ? 'over ' : ''}${cut} more entries; search_files with an empty pattern and a glob finds them]`,
    )
  if (hidden) lines.push(`[${hidden}]`)
  return lines.join('\n')
}
