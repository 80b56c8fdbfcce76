import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { useRuns } from '../../api/queries.ts'
import { get } from '../../api/request.ts'
import type { Agent, Pins } from '../../api/wire.ts'
import { useAddress } from '../../parts/address.ts'
import { AgentFindings, sourceWords, stateOfFile } from '../../parts/agent-findings.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { RunRow } from '../../parts/run-row.tsx'
import { State } from '../../parts/state.tsx'
import { asSentence, countOf, shortPath } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './agents.module.css'

const lastRuns = 20

/** One agent: its file, its profile and why, its tools and model, what is pinned of it, and its last runs. */
export default function AgentPage(): ReactNode {
  const folder = useFolder()
  const { name = '' } = useAddress()
  const [, navigate] = useLocation()
  useRowKeys(() => navigate('/agents'))
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['agents', 'one', folder, name],
    // Files change without an event.
    staleTime: 0,
    queryFn: ({ signal }) => get<Agent>('/v1/agents/show', { folder, name }, signal),
  })
  return (
    <Page title={`@${withoutBidi(name)}`} actions={<Link href="/agents">All agents</Link>}>
      {isPending && <Loading />}
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data && <AgentFacts agent={data} folder={folder} />}
      {data && <LastRuns name={name} folder={folder} />}
    </Page>
  )
}

function AgentFacts({ agent, folder }: { agent: Agent; folder: string }): ReactNode {
  const { description, tags, error, entry, profile, model, skills, instructions } = agent
  return (
    <>
      <p className={styles['lead']}>
        {withoutBidi(description)}{' '}
        {tags.map((tag) => (
          <span key={tag} className={styles['tag']}>
            {withoutBidi(tag)}
          </span>
        ))}
      </p>
      {error && (
        <div className={styles['gone']} role="note">
          <p>It cannot be given work: {withoutBidi(error.message)}.</p>
          <p>{withoutBidi(asSentence(error.remedy))}</p>
        </div>
      )}
      <Facts>
        <Fact name="File">
          <FileFact agent={agent} />
        </Fact>
        <Fact name="Registry">
          {entry ? <Link href="/agents/registry">has an entry</Link> : 'not registered: its file applies'}
        </Fact>
        <Fact name="Profile">
          {profile ? (
            <>
              <span className="mono">{withoutBidi(profile.id)}</span>, version {profile.version}
              <span className="quiet"> · {withoutBidi(profile.why)}</span>
            </>
          ) : (
            'none'
          )}
        </Fact>
        <Fact name="Model">
          {model.name === null ? 'none that it may use' : <span className="mono">{withoutBidi(model.name)}</span>}
          <span className="quiet"> · {withoutBidi(model.why)}</span>
          {model.clamped && (
            <span className="quiet">
              {' '}
              · instead of {withoutBidi(model.clamped.from)}: {withoutBidi(model.clamped.why)}
            </span>
          )}
          {model.fallbacks.length > 0 && (
            <span className="quiet"> · if that fails, {withoutBidi(model.fallbacks.join(', then '))}</span>
          )}
        </Fact>
        <Fact name="Tools">
          <ToolFacts agent={agent} />
        </Fact>
        <Fact name="Skills">
          {skills.length === 0
            ? 'none by default'
            : skills.map((skill) => (
                <Link key={skill} href={`/skills/${encodeURIComponent(skill)}`} className={styles['skill']}>
                  {withoutBidi(skill)}
                </Link>
              ))}
        </Fact>
        <Fact name="Pinned">
          <PinFacts name={agent.name} folder={folder} />
        </Fact>
      </Facts>
      {instructions !== null && instructions !== '' && (
        <details className={styles['instructions']}>
          <summary>Its instructions</summary>
          <PlainWords text={instructions} />
        </details>
      )}
      {agent.file && agent.file.diagnostics.length > 0 && (
        <Section title={`What was found in its file`} more={countOf(agent.file.diagnostics.length, 'finding')}>
          <AgentFindings findings={agent.file.diagnostics} />
        </Section>
      )}
    </>
  )
}

function FileFact({ agent: { file, entry } }: { agent: Agent }): ReactNode {
  if (!file) return entry ? 'none: only the registry has it' : 'none: it is built in'
  return (
    <>
      <Link href={`/skills/${encodeURIComponent(file.name)}`} className="mono">
        {withoutBidi(shortPath(file.path))}
      </Link>{' '}
      <span className="quiet">{sourceWords(file.source)} ·</span> <State {...stateOfFile(file)} />
    </>
  )
}

function ToolFacts({ agent: { tools, withheld } }: { agent: Agent }): ReactNode {
  return (
    <>
      {tools.length === 0 && 'none'}
      <ul className={styles['tools']}>
        {tools.map(({ name, asks }) => (
          <li key={name}>
            <span className="mono">{withoutBidi(name)}</span>
            {asks !== null && <span className="quiet"> asks first</span>}
          </li>
        ))}
      </ul>
      {withheld.map(({ tool, why }) => (
        <p key={tool} className="small quiet">
          not <span className="mono">{withoutBidi(tool)}</span>: {withoutBidi(why)}
        </p>
      ))}
    </>
  )
}

/** Pins of this agent's profile, whether each is in effect, and why. */
function PinFacts({ name, folder }: { name: string; folder: string }): ReactNode {
  const { data, error } = useQuery({
    queryKey: ['agents', 'pins', folder],
    queryFn: ({ signal }) => get<Pins>('/v1/pins', { folder }, signal),
  })
  if (error) return withoutBidi(error.message)
  if (!data) return null
  const own = data.pins.filter(({ agentId }) => agentId === `@${name}`)
  if (own.length === 0) return 'not here'
  return own.map(({ scope, id, effective, why }) => (
    <p key={`${scope}-${id}`}>
      for {scope} {withoutBidi(shortPath(id))}: {effective ? 'active' : 'not active'},{' '}
      <span className="quiet">{withoutBidi(why)}</span>
    </p>
  ))
}

function LastRuns({ name, folder }: { name: string; folder: string }): ReactNode {
  const { data, error, refetch } = useRuns({ agent: name, all: true, folder, limit: lastRuns })
  const runs = data?.toReversed() ?? []
  return (
    <Section title="Last runs" more="in this folder, the newest first">
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data && runs.length === 0 && (
        <EmptyState title="It has not worked here yet">
          <p>Give it work: write its name first in a chat.</p>
          <pre>@{withoutBidi(name)} …</pre>
        </EmptyState>
      )}
      <ul>
        {runs.map((run) => (
          <RunRow key={run.id} run={run} depth={0} />
        ))}
      </ul>
    </Section>
  )
}
