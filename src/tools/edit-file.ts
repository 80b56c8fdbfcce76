import { z } from 'zod'
import { HeddleError } from '../domain/errors.ts'
import type { Tool } from '../domain/tool.ts'
import { changeFile, coversWriting, type Make, previewChange } from './change-file.ts'
import { editText } from './edit-text.ts'
import { readEncoded } from './encoded-text.ts'
import { parsedBy } from './tool-input.ts'

const wellFormed = z.string().refine((text) => text.isWellFormed(), 'holds half a character')
const input = z
  .strictObject({
    path: z.string(),
    old_text: wellFormed.min(1, 'must hold the text that is there; write_file makes a new file'),
    new_text: wellFormed,
    all: z.boolean().default(false),
  })
  .refine((edit) => edit.old_text !== edit.new_text, 'old_text and new_text are the same: nothing would change')
type Edit = z.output<typeof input>

/** Puts a text in the place of another, and leaves the rest of a file as it is. */
export const editFile: Tool<Edit> = {
  name: 'edit_file',
  description:
    'Replaces old_text in a text file by new_text. old_text must be there exactly once, letter by letter, without the ' +
    'line numbers that read_file shows: take enough lines around it; or say all: true. Encoding and line ends are kept. ' +
    'Refused when the file has changed since you read it: read it again then.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'from the folder on, such as src/main.ts' },
      old_text: { type: 'string', minLength: 1, description: 'what is there, such as whole lines' },
      new_text: { type: 'string', description: 'what shall be there; empty to remove it' },
      all: { type: 'boolean', description: 'replace every place where old_text stands' },
    },
    required: ['path', 'old_text', 'new_text'],
    additionalProperties: false,
  },
  effect: 'idempotent',
  paths: ['path'],
  parse: parsedBy(input),
  run: async (edit, call) => changeFile(call, edited(edit)),
  covers: (_, call) => coversWriting(call),
  preview: async (edit, call) => previewChange(call, edited(edit)),
}

function edited(edit: Edit): Make {
  return (before, shown) => {
    if (!before) throw new HeddleError('missing', `there is no ${shown}`, 'write_file makes a new file')
    const { text, encode } = readEncoded(before.bytes, shown)
    return encode(editText(text, { old: edit.old_text, new: edit.new_text, all: edit.all }, shown))
  }
}
