import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Run } from '../../api/wire.ts'
import { Budget } from '../../parts/budget.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { Reference } from '../../parts/reference.tsx'
import { secondsOf } from '../../parts/run-tree.ts'
import { formatCost, formatCount, formatDuration, formatTime, formatTokens } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './run.module.css'

/** What is known of a run besides its steps: model and tools with the reason, budget, result and changed files. */
export function RunFacts({ run }: { run: Run }): ReactNode {
  const { budget, usage, steps } = run
  return (
    <div className={styles['facts']}>
      <Facts>
        <Fact name="model">
          <ModelFact run={run} />
        </Fact>
        <Fact name="tools">
          <ToolsFact run={run} />
        </Fact>
        <Fact name="budget">
          <span className="row">
            <Budget spent={budget.spentUsd} of={budget.usd} what="for the request" />
            <span className="mono">
              this run {formatCost(usage)}, {formatTokens(usage.inputTokens)} in, {formatTokens(usage.outputTokens)} out
            </span>
          </span>
        </Fact>
        <Fact name="work">
          <span className="row">
            <span>{formatDuration(secondsOf(run))}</span>
            <span>
              {formatCount(steps.filter(({ kind }) => kind === 'reply').length)} of {formatCount(budget.steps)} model
              calls
            </span>
            {run.promptTokens !== null && run.promptTokens > 0 && (
              <span>last prompt {formatTokens(run.promptTokens)} tokens</span>
            )}
            {run.tries > 1 && <span>{run.tries} tries of the current call</span>}
            <span className="quiet">
              {formatTime(run.createdAt)}
              {run.finishedAt !== null && ` – ${formatTime(run.finishedAt)}`}
            </span>
          </span>
        </Fact>
        {run.epoch > 1 && (
          <Fact name="continued">
            {run.crashes > 0
              ? `It went on after its process died (${run.crashes} ${run.crashes === 1 ? 'time' : 'times'}); nothing was lost.`
              : `It went on ${run.epoch - 1} ${run.epoch === 2 ? 'time' : 'times'} after a pause.`}
          </Fact>
        )}
        {run.routedBy !== undefined && <Fact name="chosen by">{withoutBidi(run.routedBy)}</Fact>}
        {run.label.integrity === 'untrusted' && (
          <Fact name="read">
            <span className={styles['warning']}>not trusted: </span>
            <PlainWords text={run.label.sources.join(', ')} />
          </Fact>
        )}
        {run.result && (
          <Fact name="result">
            <Reference to={`result:${run.result.id}`} /> {withoutBidi(run.result.summary)}
          </Fact>
        )}
        {run.turnId !== null && (
          <Fact name="turn">
            <Reference to={`turn:${run.turnId}`} />
          </Fact>
        )}
        {run.files.length > 0 && (
          <Fact name="files">
            <ul>
              {run.files.map(({ path, sha256, undone }) => (
                <li key={path}>
                  <Link href={`/why/${encodeURIComponent(`file:${path}`)}`} className="mono">
                    {withoutBidi(path)}
                  </Link>{' '}
                  <span className="quiet">
                    {undone ? 'undone' : sha256 === null ? 'removed' : `written, sha ${sha256.slice(0, 8)}`}
                  </span>
                </li>
              ))}
            </ul>
          </Fact>
        )}
        {run.commands.length > 0 && (
          <Fact name="cannot undo">
            <ul>
              {run.commands.map(({ name, about }, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the same command may stand here twice
                <li key={at} className="mono">
                  {withoutBidi(`${name} ${about}`)}
                </li>
              ))}
            </ul>
          </Fact>
        )}
      </Facts>
    </div>
  )
}

/** The model that was asked for, the one that answered, and why they differ. */
function ModelFact({ run: { model, profile } }: { run: Run }): ReactNode {
  const { requested, actual, clamped } = model
  const asked = clamped?.from ?? requested
  return (
    <span className="row">
      <span className="mono">{withoutBidi(actual ?? 'none yet')}</span>
      <span className="quiet">
        {asked === null || asked === undefined
          ? 'the default: no other one was asked for'
          : asked === actual
            ? 'as asked for'
            : `asked for ${withoutBidi(asked)}`}
      </span>
      {clamped && <span className={styles['warning']}>{withoutBidi(clamped.why)}</span>}
      {profile && (
        <span className="quiet">
          {withoutBidi(profile.id)}, version {profile.version}
        </span>
      )}
    </span>
  )
}

/** The tools that it has, and which of those that its request may have it does not. */
function ToolsFact({ run: { effectiveTools, ceiling, profile, agent } }: { run: Run }): ReactNode {
  const without = (ceiling.tools ?? []).filter((name) => !effectiveTools.includes(name))
  if (effectiveTools.length === 0 && without.length === 0) return <span className="quiet">none</span>
  return (
    <details className={styles['why']}>
      <summary>
        <span className="mono">{effectiveTools.length === 0 ? 'none' : effectiveTools.join(', ')}</span>{' '}
        <span className={styles['more']}>Why these?</span>
      </summary>
      <p>
        @{agent ?? 'agent'} {profile ? `has ${withoutBidi(profile.id)}` : 'has no profile'}, and nothing may have more
        than the run that started it.
      </p>
      {ceiling.tools && (
        <p>
          Its caller may use {ceiling.tools.length}
          {without.length > 0 && (
            <>
              ; this agent does not have <span className="mono">{without.join(', ')}</span>
            </>
          )}
          .
        </p>
      )}
      {ceiling.models && <p>Models it may use: {ceiling.models.join(', ') || 'none'}.</p>}
      {ceiling.skills && <p>Agents and skills it may hand on: {ceiling.skills.join(', ') || 'none'}.</p>}
      {ceiling.sandbox && <p>Limits on commands: {JSON.stringify(ceiling.sandbox)}.</p>}
    </details>
  )
}
