import { dirname } from 'node:path'
import type { Guarded } from './guarded-run.ts'
import type { Ended } from './launch.ts'

const failedToConfigure =
  /(?:config|hooks).*(?:Device or resource busy|Read-only file system|could not (?:lock|write))|could not (?:lock|write) config/i

/** What a model must be told besides a command's own output: what was moved aside, and why git could not do something. */
export function guardNotes({ done, findings }: Guarded<Ended>): string[] {
  if (!findings)
    return ['[heddle: the folder could not be looked through afterwards; heddle looks again after the next command]']
  return [...new Set(findings.movedAside.map(({ path }) => dirname(path)))]
    .map((directory) => {
      const names = findings.movedAside.filter(({ path }) => dirname(path) === directory)
      const told = names.map(({ path, to }) => `${path} is now ${to}`).join(', ')
      return `[heddle: git or heddle would run what the command left here, so it was moved aside: ${told}. Only the user can put it back: heddle git trust ${directory}]`
    })
    .concat(findings.restored.map((path) => `[heddle: ${path} leads where it did before]`))
    .concat(failedToConfigure.test(done.output.text()) ? [configIsReadOnly] : [])
}

const configIsReadOnly =
  '[heddle: .git/config and .git/hooks are read-only for commands, since git runs what stands there. git remote add, ' +
  'git config, branches that track others and installing hooks fail: give the user the command to run]'
