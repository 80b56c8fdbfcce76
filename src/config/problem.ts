import { HeddleError } from '../domain/errors.ts'

/** Something in a configuration that people should change: where it is, what it is, what to do. */
export interface ConfigProblem {
  line: number
  /** Dotted path of the value; empty when the file as a whole cannot be read. */
  path: string
  message: string
  remedy: string
}

/** The configuration cannot be used: carries every problem, so that one look at the file mends them all. */
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
      whatNow ?? (remedies.length === 1 ? remedies.join() : 'mend them with: heddle config edit'),
    )
    this.problems = problems
  }
}
