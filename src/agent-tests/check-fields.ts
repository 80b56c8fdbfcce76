import { z } from 'zod'

/** Schemas of the values in `checks.json`. */
export const words = z.string().min(1, 'must not be empty')

export const inFolder = words.refine(
  (path) => !path.startsWith('/') && !path.split('/').some((part) => part === '..' || part === '.' || part === ''),
  { error: 'must be a path relative to the folder, such as src/a.js' },
)

export const pattern = words.refine(isPattern, { error: 'must be a regular expression' })

export const amount = z.int('must be a whole number').min(0, 'must be 0 or more')

function isPattern(text: string): boolean {
  try {
    new RegExp(text)
    return true
  } catch {
    return false
  }
}
