import type { PolicyVersionView } from '../../api/profiles.ts'
import type { CommandContext } from '../command.ts'
import { formatAge, printable, table } from '../terminal/screen.ts'

/** Versions of a record, newest first: who wrote each, and when. */
export function versionLines(here: CommandContext, versions: readonly PolicyVersionView[]): string {
  const now = here.clock.now()
  const rows = versions.map(({ version, value, at, by }) => [
    `version ${version}`,
    value === null ? 'removed' : '',
    describeAuthor(by),
    formatAge(at, now),
  ])
  return rows.length === 0 ? '' : table(here.screen, rows, 2)
}

/** Who wrote something; what comes with Heddle has no author. */
export function describeAuthor(by: string): string {
  return by === 'heddle' ? 'shipped with heddle' : `by ${printable(by)}`
}
