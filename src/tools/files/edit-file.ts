import { z } from 'zod'
import { HeddleError } from '../../domain/errors.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import { defineTool } from '../define-tool.ts'
import { agentFileSink, changeFile, type MakeContent, previewChange, writingCoverage } from './change-file.ts'
import { editText } from './edit-text.ts'
import { readEncoded } from './encoded-text.ts'

const wellFormed = z.string().refine((text) => text.isWellFormed(), 'contains an incomplete character')
const input = z
  .strictObject({
    path: z.string().describe('relative to the folder, such as src/main.ts'),
    old_text: wellFormed
      .min(1, 'must hold the text to replace; write_file creates a new file')
      .describe('the text to replace, such as whole lines'),
    new_text: wellFormed.describe('the replacement; empty to remove old_text'),
    all: z.boolean().default(false).describe('replace every occurrence of old_text'),
  })
  .refine((edit) => edit.old_text !== edit.new_text, 'old_text and new_text are the same: nothing would change')
type Edit = z.output<typeof input>

/** Replaces a text in a file and leaves the rest unchanged. */
export const editFile: Tool<Edit> = defineTool(input, {
  name: 'edit_file',
  description:
    'Replaces old_text in a text file by new_text. old_text must occur exactly once, character by character, without the ' +
    'line numbers that read_file shows: include enough surrounding lines, or set all: true. Encoding and line endings are ' +
    'kept. Refused if the file has changed since you read it: read it again then.',
  effect: 'idempotent',
  paths: ['path'],
  sink: ({ path }) => agentFileSink(path),
  run: async (edit, call) => changeFile(call, editor(edit), true),
  covers: (_, call) => writingCoverage(call),
  preview: async (edit, call) => previewChange(call, editor(edit)),
})

function editor(edit: Edit): MakeContent {
  return (before, shown) => {
    if (!before) throw new HeddleError('missing', `there is no ${shown}`, 'write_file makes a new file')
    const { text, encode } = readEncoded(before.bytes, shown)
    return encode(editText(text, { old: edit.old_text, new: edit.new_text, all: edit.all }, shown))
  }
}
