import { z } from 'zod'

/** Schemas of the values in `checks.json`. */
export const nonEmptyText = z.string().min(1, 'must not be empty')

export const relativePath = nonEmptyText.refine(
  (path) => !path.startsWith('/') && !path.split('/').some((part) => part === '..' || part === '.' || part === ''),
  { error: 'must be a path relative to the folder, such as src/a.js' },
)

export const regexText = nonEmptyText.refine(isRegExp, { error: 'must be a regular expression' })

export const countField = z.int('must be a whole number').min(0, 'must be 0 or more')

function isRegExp(text: string): boolean {
  try {
    new RegExp(text)
    return true
  } catch {
    return false
  }
}
