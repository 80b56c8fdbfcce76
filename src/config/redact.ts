/** Replaces secrets in shown text. */
export const redactedMark = '[redacted]'

/** References such as `${NAME}` are masked while the patterns run: they reveal no secret and stay readable. */
const placeholder = /\$\{(?:secret:[A-Za-z][\w-]*|[A-Za-z_]\w*)\}/g
const marked = /\ufdd0(\d+)\ufdd1/g

const secretName =
  /api[-_]?key|access[-_]?key|private[-_]?key|token$|secret|password|passwd|passphrase|authorization|credential/i

/** Everything between the first `:` after a user name and the last `@` counts as the password. */
const urlPassword = /(:\/\/[^\s:/@]*:)(\S*)@/g
const queryValue = /([?&;](?:[\w-]*key|[\w-]*token|[\w-]*secret|password|passwd|pwd|auth\w*|sig\w*)=)([^&#;\s]+)/gi
const knownKeys = [
  /(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][\w-]{4,}/g,
  /(?<![A-Za-z0-9])(?:gh[opusr]_|github_pat_|glpat-|xox[a-z]-|hf_|npm_)[\w-]{8,}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{12,}/g,
  /(?<![A-Za-z0-9])AIza[\w-]{20,}/g,
  /(?<![A-Za-z0-9])eyJ[\w-]{8,}(?:\.[\w-]*)*/g,
  /(?<![A-Za-z0-9])(?:Bearer|Basic)\s+[^\s"']{6,}/gi,
  /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi,
]

/** Whether a config key's name marks its value as secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name)
}

/** Redacts everything that looks like a key, password or token; in doubt it redacts. */
export function redact(text: string): string {
  const references: string[] = []
  let shown = text.replaceAll(placeholder, (found) =>
    // The user may have put the key itself into the braces.
    hasKnownKey(found) ? found : `\ufdd0${references.push(found) - 1}\ufdd1`,
  )
  shown = shown.replaceAll(urlPassword, (whole, head: string, password: string) =>
    password === '' || /^\ufdd0\d+\ufdd1$/.test(password) ? whole : `${head}${redactedMark}@`,
  )
  shown = shown.replaceAll(queryValue, (whole, head: string, value: string) =>
    /^\ufdd0\d+\ufdd1$/.test(value) ? whole : head + redactedMark,
  )
  for (const pattern of knownKeys) shown = shown.replaceAll(pattern, redactedMark)
  shown = shown.replaceAll(/[\w=-]{32,}/g, (run) => (run.split(/[-_=]+/).some(isRandom) ? redactedMark : run))
  shown = shown.replaceAll(/[A-Za-z0-9]{20,}/g, (run) => (isRandom(run) ? redactedMark : run))
  return shown.replaceAll(marked, (_, index: string) => references[Number(index)] ?? redactedMark)
}

/**
 * Copies plain data for display: values under secret names are redacted, other texts searched. `hide` removes known
 * secrets in any form.
 */
export function redactTree(value: unknown, hide: (text: string) => string, name = ''): unknown {
  if (typeof value === 'string') return isSecretName(name) ? redactWhole(value) : redact(hide(value))
  if (Array.isArray(value)) return value.map((item) => redactTree(item, hide, name))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [redact(hide(key)), redactTree(inner, hide, key)]),
  )
}

/** Redacts a value that is a secret as a whole, unless it consists of references. */
export function redactWhole(value: string): string {
  return value.replaceAll(placeholder, '').trim() === '' && !hasKnownKey(value) ? value : redactedMark
}

function hasKnownKey(text: string): boolean {
  return knownKeys.some((pattern) => text.search(pattern) >= 0)
}

/** Quotes a value for a sentence: redacted and shortened. */
export function quoteValue(value: string): string {
  const shown = redact(value).replaceAll(/\s+/g, ' ')
  return `"${shown.length > 60 ? `${shown.slice(0, 59)}…` : shown}"`
}

/** Names of models and files are words with separators; keys are long mixes of letters and digits. */
function isRandom(stretch: string): boolean {
  const mixed = /[0-9]/.test(stretch) && /[A-Za-z]/.test(stretch)
  if (stretch.length >= 20) return mixed && bitsPerCharacter(stretch) >= 2.5
  return stretch.length >= 12 && mixed && /[a-z]/.test(stretch) && /[A-Z]/.test(stretch)
}

function bitsPerCharacter(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}
