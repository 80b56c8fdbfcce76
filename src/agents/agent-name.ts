const maxLength = 64
const kebab = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
/** Names of built-in agents. */
const reserved = ['general', 'coordinator', 'narrator']

/** The normalised name and whether it differs from the file's, or why it is refused. */
type NameVerdict = { ok: true; name: string; changed: boolean } | { ok: false; why: string; remedy: string }

/**
 * Normalises an agent's name to kebab-case. Letters other than a to z are refused: look-alikes could make the user give
 * work to the wrong agent.
 */
export function agentName(written: string): NameVerdict {
  const badCharacter = /[^\x20-\x7e]/u.exec(written.trim())?.[0]
  if (badCharacter !== undefined) {
    const code = badCharacter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
    return refused(`the name has a character that is invisible or easily confused (U+${code})`)
  }
  const name = written
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  if (!kebab.test(name)) return refused('the name has no letters')
  if (name.length > maxLength) return refused(`the name is longer than ${maxLength} characters`)
  if (reserved.includes(name)) return { ok: false, why: `the name ${name} is reserved for heddle`, remedy: 'rename it' }
  return { ok: true, name, changed: name !== written }
}

function refused(why: string): NameVerdict {
  return { ok: false, why, remedy: 'name it with a to z, 0 to 9 and -, such as release-notes' }
}
