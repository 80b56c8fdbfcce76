import { dirname } from 'node:path'
import { shownName } from '../../files/shown-name.ts'
import type { GuardedResult } from './guarded-run.ts'
import type { ProgramExit } from './launch.ts'

const failedToConfigure =
  /(?:config|hooks).*(?:Device or resource busy|Read-only file system|could not (?:lock|write))|could not (?:lock|write) config/i
const maxNotes = 20

/** Notes for the model besides a command's output: files moved aside, and why git failed. */
export function guardNotes({ done, findings }: GuardedResult<ProgramExit>): string[] {
  if (!findings) return [`[heddle: the folder could not be scanned afterwards; ${looksAgain}]`]
  const directories = [...new Set(findings.movedAside.map(({ path }) => dirname(path)))]
  const moved = directories.map((directory) => {
    const names = findings.movedAside.filter(({ path }) => dirname(path) === directory)
    const renamed = names.map(({ path, to }) => `${shownName(path)} is now ${shownName(to)}`).join(', ')
    return `git or heddle would run what the command left here, so it was disabled: ${renamed}. Only the user can restore it: heddle git trust ${shownName(directory)}`
  })
  const silent = findings.appeared.filter((path) => !directories.includes(path))
  const notes = [
    ...moved,
    ...silent.map((path) => `${shownName(path)} is a new repository`),
    ...findings.restored.map((path) => `${shownName(path)} was restored to its old target`),
    ...findings.unseen.map((why) => `not checked or not disabled: ${shownName(why)}; ${looksAgain}`),
  ]
  const more = notes.length > maxNotes ? [`and ${notes.length - maxNotes} more such notes`] : []
  return [
    ...[...notes.slice(0, maxNotes), ...more].map((note) => `[heddle: ${note}]`),
    ...(failedToConfigure.test(done.output.text()) ? [configIsReadOnly] : []),
  ]
}

const looksAgain = 'heddle checks again after the next command'
const configIsReadOnly =
  '[heddle: .git/config and .git/hooks are read-only for commands, since git runs what they contain. git remote add, ' +
  'git config, branches that track others and installing hooks fail: give the user the command to run]'
