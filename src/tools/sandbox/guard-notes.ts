import { dirname } from 'node:path'
import { shownName } from '../shown-name.ts'
import type { Guarded } from './guarded-run.ts'
import type { Ended } from './launch.ts'

const failedToConfigure =
  /(?:config|hooks).*(?:Device or resource busy|Read-only file system|could not (?:lock|write))|could not (?:lock|write) config/i
const maxTold = 20

/** What a model must be told besides a command's own output: what was moved aside, and why git could not do something. */
export function guardNotes({ done, findings }: Guarded<Ended>): string[] {
  if (!findings) return [`[heddle: the folder could not be looked through afterwards; ${looksAgain}]`]
  const directories = [...new Set(findings.movedAside.map(({ path }) => dirname(path)))]
  const moved = directories.map((directory) => {
    const names = findings.movedAside.filter(({ path }) => dirname(path) === directory)
    const told = names.map(({ path, to }) => `${shownName(path)} is now ${shownName(to)}`).join(', ')
    return `git or heddle would run what the command left here, so it was moved aside: ${told}. Only the user can put it back: heddle git trust ${shownName(directory)}`
  })
  const silent = findings.appeared.filter((path) => !directories.includes(path))
  const notes = [
    ...moved,
    ...silent.map((path) => `${shownName(path)} is a new repository`),
    ...findings.restored.map((path) => `${shownName(path)} leads where it did before`),
    ...findings.unseen.map((why) => `not looked at or not moved aside: ${shownName(why)}; ${looksAgain}`),
  ]
  const more = notes.length > maxTold ? [`and ${notes.length - maxTold} more such notes`] : []
  return [
    ...[...notes.slice(0, maxTold), ...more].map((note) => `[heddle: ${note}]`),
    ...(failedToConfigure.test(done.output.text()) ? [configIsReadOnly] : []),
  ]
}

const looksAgain = 'heddle looks again after the next command'
const configIsReadOnly =
  '[heddle: .git/config and .git/hooks are read-only for commands, since git runs what stands there. git remote add, ' +
  'git config, branches that track others and installing hooks fail: give the user the command to run]'
