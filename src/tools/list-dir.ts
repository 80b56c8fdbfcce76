import { z } from 'zod'
import type { Tool } from '../domain/tool.ts'
import { type FileThreads, patience } from './file-threads.ts'
import type { Listing } from './listing.ts'
import { parsedBy } from './tool-input.ts'

const mostBytes = 48_000

const input = z.strictObject({ path: z.string() })

/** Shows what is in a directory. */
export function listDir(threads: FileThreads): Tool<z.output<typeof input>> {
  return {
    name: 'list_dir',
    description:
      'Lists a directory: directories first, each with a slash at its end, then files with their size in bytes. What ' +
      '.gitignore and .ignore hide is left out and counted.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', description: 'from the folder on; . is the folder itself' } },
      required: ['path'],
      additionalProperties: false,
    },
    effect: 'pure',
    paths: ['path'],
    parse: parsedBy(input),
    async run(_, call) {
      const handle = call.handle('path')
      const listing = await threads.perform({ list: handle.address }, call.signal)
      if (listing !== 'late') return { status: 'ok', output: told(handle.shown, listing) }
      const error = `listing ${handle.shown} was stopped after ${patience / 1000} s`
      return { status: 'error', output: { status: 'error', error, remedy: 'list a directory below it' } }
    },
  }
}

function told(shown: string, { entries, more, atLeast, ignored }: Listing): string {
  const lines: string[] = []
  let left = mostBytes
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
