import { z } from 'zod'
import { HeddleError } from '../domain/errors.ts'
import type { Tool } from '../domain/tool.ts'
import { changeFile, coversWriting, type Make, previewChange } from './change-file.ts'
import { parsedBy } from './tool-input.ts'

const mostBytes = 5 * 1024 * 1024

const input = z.strictObject({
  path: z.string(),
  content: z.string().refine((text) => text.isWellFormed(), 'holds half a character'),
})

/** Makes a text file, or puts new content in the place of what it held. */
export const writeFile: Tool<z.output<typeof input>> = {
  name: 'write_file',
  description:
    'Makes a file with this content, or replaces all that it holds; directories that are missing are made. For a part ' +
    'of a file use edit_file. Refused when the file has changed since you read it: read it again then.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'from the folder on, such as src/main.ts' },
      content: { type: 'string', description: 'the whole file' },
    },
    required: ['path', 'content'],
    additionalProperties: false,
  },
  effect: 'idempotent',
  paths: ['path'],
  parse: parsedBy(input),
  run: async ({ content }, call) => changeFile(call, holding(content)),
  covers: (_, call) => coversWriting(call),
  preview: async ({ content }, call) => previewChange(call, holding(content)),
}

function holding(content: string): Make {
  const bytes = Buffer.from(content)
  if (bytes.length > mostBytes)
    throw new HeddleError(
      'too_large',
      `the content has ${bytes.length} bytes, and a file is written with at most ${mostBytes}`,
      'write less, or several files',
    )
  return () => bytes
}
