import { HeddleError } from '../../domain/errors.ts'

/** Schema of our tables: `?schema=name` of the URL, default `heddle`. */
export function schemaOf(url: string): string {
  const name = new URL(url).searchParams.get('schema') ?? 'heddle'
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name))
    throw new HeddleError('bad_schema', `"${name}" is not a valid schema name`, 'use lower-case letters, digits and _')
  return name
}

/** URL without its password, for display. */
export function redactedUrl(url: string): string {
  const redacted = new URL(url)
  redacted.password = ''
  redacted.searchParams.delete('password')
  return redacted.toString()
}

/** URL as the server knows it. */
export function withoutSchema(url: string): string {
  const bare = new URL(url)
  bare.searchParams.delete('schema')
  return bare.toString()
}
