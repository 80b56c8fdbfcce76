import type { Trial } from '../../app/models.ts'
import type { CommandContext } from '../command.ts'
import { paint, printable } from '../terminal/screen.ts'

/** A model test in two lines, and a remedy for each failed check. */
export function trialLines({ screen }: CommandContext, trial: Trial): string {
  const verdict = (text: string, ok: boolean) => `${text} ${paint(screen, ok ? 'green' : 'red', ok ? 'ok' : 'FAILED')}`
  const window = trial.checks.find(({ name, ok }) => name === 'window' && ok)
  const done = trial.checks.filter((check) => check !== window).map(({ name, ok }) => verdict(name, ok))
  const read = window ? [verdict(`${window.detail},`, true)] : []
  const speed = trial.tokensPerSecond === null ? [] : [`${trial.tokensPerSecond} tokens/s`]
  const cost = [`${(trial.took / 1000).toFixed(1)}s`, `${trial.isEstimate ? '~' : ''}$${trial.costUsd.toFixed(4)}`]
  const failed = trial.checks.filter(({ ok }) => !ok)
  const why = failed.flatMap(({ name, detail, remedy }) => [
    `${name}: ${printable(detail)}`,
    ...(remedy === undefined ? [] : [`  → ${printable(remedy)}`]),
  ])
  return [[...done, ...cost].join(' · '), ...[[...read, ...speed].join(' · ')].filter(Boolean), ...why].join('\n')
}

/** The command that switches back. */
export function undoCommand(before: string, name: string): string {
  return before === name ? '' : `undo: heddle models use ${before}`
}
