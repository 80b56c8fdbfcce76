import { HeddleError } from '../domain/errors.ts'

/** A problem in a configuration, with its line and a remedy. */
export interface ConfigProblem {
  line: number
  /** Dotted path of the value; empty when the file as a whole cannot be read. */
  path: string
  message: string
  remedy: string
}

/** An invalid configuration, with all its problems, so that the user can fix them in one go. */
export class ConfigInvalid extends HeddleError {
  readonly problems: readonly ConfigProblem[]

  constructor(file: string, problems: readonly ConfigProblem[], whatNow?: string) {
    const [first] = problems
    const message =
      problems.length === 1 && first
        ? `${file}: ${first.message}`
        : `${file} has ${problems.length} problems:\n${problems.map(({ message }) => `  ${message}`).join('\n')}`
    const remedies = [...new Set(problems.map(({ remedy }) => remedy))]
    super(
      'config_invalid',
      message,
      whatNow ?? (remedies.length === 1 ? remedies.join() : 'fix them with: heddle config edit'),
    )
    this.problems = problems
  }
}
