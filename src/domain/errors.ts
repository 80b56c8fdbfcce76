/** Whether trying the same thing again, unchanged, can help. */
export type Retry = 'never' | 'later'

/** An expected failure: a stable code for programs, a sentence for people, and what to do next. */
export class HeddleError extends Error {
  override readonly name = 'HeddleError'
  readonly code: string
  readonly remedy: string
  readonly retry: Retry

  constructor(code: string, message: string, remedy: string, options: { retry?: Retry; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.remedy = remedy
    this.retry = options.retry ?? 'never'
  }
}

/** A failure as one text: what went wrong, and in the next sentence what to do. */
export function withRemedy({ message, remedy }: { message: string; remedy: string }): string {
  const isCommand = /^(heddle|npm|sudo) /.test(remedy)
  const sentence = isCommand ? remedy : remedy.replace(/^[a-z]/, (letter) => letter.toUpperCase())
  return `${message.replace(/\.$/, '')}. ${sentence}`
}

/** The database failed. Not the caller's fault, and never reported to a model. */
export class StorageFailure extends HeddleError {}

/** Wrong use of a command or a wrong argument: the caller must change the request. */
export class UsageError extends HeddleError {
  constructor(message: string, remedy: string, code = 'misuse') {
    super(code, message, remedy)
  }
}
