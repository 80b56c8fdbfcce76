import type { ErrorCode } from 'yaml'
import { redact } from './redact.ts'

const sentences: Partial<Record<ErrorCode, [message: string, remedy: string]>> = {
  BAD_ALIAS: ['a value starts with `*`, which YAML keeps for aliases', 'put the value in quotes'],
  BAD_COLLECTION_TYPE: ['a list or a section has a tag that does not fit it', 'remove the tag (`!…`)'],
  BAD_DQ_ESCAPE: ['a text in double quotes has an unknown `\\` sequence', 'use single quotes, or write `\\\\`'],
  BAD_INDENT: ['the indentation does not fit the lines above', 'indent the lines of one section alike'],
  BAD_SCALAR_START: ['a value starts with `@`, `%` or a backtick', 'put the value in quotes'],
  BLOCK_AS_IMPLICIT_KEY: ['a line has two keys', 'start a new line, or put the value in quotes'],
  BLOCK_IN_FLOW: ['an indented block is inside brackets', 'write it in the same brackets'],
  MISSING_CHAR: ['a quote, bracket, comma or `:` is missing', 'add it'],
  MULTILINE_IMPLICIT_KEY: ['a key spans several lines, or its `:` is missing', 'write `key: value` on one line'],
  MULTIPLE_DOCS: ['a second document starts here', 'remove the line `---`'],
  NON_STRING_KEY: ['a key is not a name', 'write the key as a plain name'],
  TAB_AS_INDENT: ['the line is indented with a tab', 'use spaces'],
  TAG_RESOLVE_FAILED: ['a value has a tag (`!…`) that is not used here', 'remove the tag'],
  UNEXPECTED_TOKEN: ['there is more text than fits here', 'put the value in quotes, or start a new line'],
}

/** Explains a YAML error in plain words, without quoting the source, which may hold a key. */
export function yamlSentence(code: ErrorCode, text: string, offset: number, line: number) {
  if (code === 'DUPLICATE_KEY') {
    const key = /^["']?([\w.@-]+)/.exec(text.slice(offset, offset + 100))?.[1]
    const name = key ? `the key \`${redact(key)}\`` : 'a key'
    return { message: `${name} at line ${line} appears twice`, remedy: 'keep one of the two' }
  }
  const [what, remedy] = sentences[code] ?? [
    'this is not valid YAML',
    'compare it with the example in docs/guide/config.md',
  ]
  return { message: `line ${line}: ${what}`, remedy }
}
