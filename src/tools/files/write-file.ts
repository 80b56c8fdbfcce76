import { z } from 'zod'
import { HeddleError } from '../../domain/errors.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import { defineTool } from '../define-tool.ts'
import { agentFileSink, changeFile, type MakeContent, previewChange, writingCoverage } from './change-file.ts'

const maxBytes = 5 * 1024 * 1024

const input = () =>
  z.strictObject({
    path: z.string().describe('relative to the folder, such as src/main.ts'),
    content: z
      .string()
      .refine((text) => text.isWellFormed(), 'contains an incomplete character')
      .describe('the whole file'),
  })

/** Creates a text file, or replaces its content. */
export const writeFile: Tool<z.output<ReturnType<typeof input>>> = defineTool(input, {
  name: 'write_file',
  description:
    'Creates a file with this content, or replaces its whole content; missing directories are created. For a part of a ' +
    'file use edit_file. Refused if the file has changed since you read it: read it again then.',
  effect: 'idempotent',
  paths: ['path'],
  sink: ({ path }) => agentFileSink(path),
  run: async ({ content }, call) => changeFile(call, contentMaker(content), false),
  covers: (_, call) => writingCoverage(call),
  preview: async ({ content }, call) => previewChange(call, contentMaker(content)),
})

function contentMaker(content: string): MakeContent {
  const bytes = Buffer.from(content)
  if (bytes.length > maxBytes)
    throw new HeddleError(
      'too_large',
      `the content has ${bytes.length} bytes, and a file is written with at most ${maxBytes}`,
      'write less, or several files',
    )
  return () => bytes
}
