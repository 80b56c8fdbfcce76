const longest = 64
const kebab = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
/** Names that the runtime itself answers to. */
const reserved = ['general', 'coordinator', 'narrator']

/** A name that can be used, told apart from what a file wrote; or why it cannot. */
export type NameVerdict = { ok: true; name: string; changed: boolean } | { ok: false; why: string; remedy: string }

/**
 * What an agent is called. Capitals, spaces and the like become kebab-case. Letters other than a to z are refused: many
 * look like one of those, and a name that a person takes for another is a way to be given the other one's work.
 */
export function agentName(written: string): NameVerdict {
  const strange = /[^\x20-\x7e]/u.exec(written.trim())?.[0]
  if (strange !== undefined) {
    const code = strange.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
    return refused(`the name has a character that can be mistaken or not be seen (U+${code})`)
  }
  const name = written
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  if (!kebab.test(name)) return refused('the name has no letters')
  if (name.length > longest) return refused(`the name is longer than ${longest} characters`)
  if (reserved.includes(name))
    return { ok: false, why: `the name ${name} is taken by heddle itself`, remedy: 'rename it' }
  return { ok: true, name, changed: name !== written }
}

function refused(why: string): NameVerdict {
  return { ok: false, why, remedy: 'name it with a to z, 0 to 9 and -, such as release-notes' }
}
