import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import type { Skills } from '../../api/wire.ts'
import { useAddress } from '../../parts/address.ts'
import { AgentFindings, sourceWords, stateOfFile } from '../../parts/agent-findings.tsx'
import { Filters } from '../../parts/filters.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { rowMark, useRowKeys } from '../../parts/row-keys.ts'
import { State } from '../../parts/state.tsx'
import { countOf, formatTokens, shortPath } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './skills.module.css'

type Skill = Skills['skills'][number]

/** All agent files: where each was found, who is given it, and what is wrong with it. */
export default function SkillList(): ReactNode {
  const folder = useFolder()
  const { name } = useAddress()
  const [search] = useSearchParams()
  const isOnlyWrong = search.get('show') === 'problems'
  const [, navigate] = useLocation()
  useRowKeys(name === undefined ? undefined : () => navigate('/skills'))
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['agents', 'skills', folder],
    // Files change without an event.
    staleTime: 0,
    queryFn: ({ signal }) => get<Skills>('/v1/skills', { folder }, signal),
  })
  const all = data?.skills ?? []
  const wrong = all.filter(hasProblem)
  const shown = isOnlyWrong ? wrong : all
  return (
    <Page
      title="Skills"
      facts={
        data && (
          <>
            <span>{wrong.length === 0 ? 'all can be used' : countOf(wrong.length, 'problem')}</span>
            <Filters
              label="Which skills"
              chosen={isOnlyWrong ? 'problems' : 'all'}
              choices={[
                { value: 'all', label: 'All', href: '/skills' },
                { value: 'problems', label: 'Problems', href: '/skills?show=problems' },
              ]}
            />
          </>
        )
      }
    >
      {isPending && <Loading />}
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data && shown.length === 0 && <NoSkills isOnlyWrong={isOnlyWrong} />}
      <ul className={styles['skills']}>
        {shown.map((skill) => (
          <SkillRow key={skill.path} skill={skill} isOpen={skill.name === name} />
        ))}
      </ul>
      {name !== undefined && data && !all.some((skill) => skill.name === name) && (
        <EmptyState title={`There is no skill ${withoutBidi(name)} here`}>
          <p>A skill of another folder shows when you choose that folder.</p>
        </EmptyState>
      )}
      {data && data.diagnostics.length > 0 && (
        <Section title="Folders that could not be read">
          <AgentFindings findings={data.diagnostics} />
        </Section>
      )}
      {data && data.openProfiles.length > 0 && (
        <p className="small quiet">
          Without a list of their own, these profiles allow every skill:{' '}
          <span className="mono">{withoutBidi(data.openProfiles.join(', '))}</span>
        </p>
      )}
    </Page>
  )
}

function hasProblem({ status, shadowedBy, diagnostics }: Skill): boolean {
  return status !== 'ready' || shadowedBy !== undefined || diagnostics.some(({ level }) => level !== 'note')
}

function SkillRow({ skill, isOpen }: { skill: Skill; isOpen: boolean }): ReactNode {
  const { name, description, path, source, format, tools, promptTokens, diagnostics } = skill
  const row = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isOpen) row.current?.scrollIntoView({ block: 'nearest' })
  }, [isOpen])
  const isWhole = isOpen || hasProblem(skill)
  return (
    <li className={styles['skill']} ref={row} aria-current={isOpen ? 'true' : undefined}>
      <div className={styles['head']}>
        <Link href={isOpen ? '/skills' : `/skills/${encodeURIComponent(name)}`} className={styles['name']} {...rowMark}>
          {withoutBidi(name)}
        </Link>
        <State {...stateOfFile(skill)} />
      </div>
      <div className={styles['body']}>
        <p>{withoutBidi(description)}</p>
        <p className="small quiet">
          {sourceWords(source)} · <span className="mono">{withoutBidi(shortPath(path))}</span>
        </p>
        <GivenTo skill={skill} />
        {isWhole && diagnostics.length > 0 && <AgentFindings findings={diagnostics} />}
        {isOpen && (
          <p className="small quiet">
            {format} · {formatTokens(promptTokens)} tokens · tools {tools.length === 0 ? 'none' : ''}
            <span className="mono">{withoutBidi(tools.join(', '))}</span> ·{' '}
            <Link href={`/agents/${encodeURIComponent(name)}`}>as an agent</Link>
          </p>
        )}
      </div>
    </li>
  )
}

/** Who is given its instructions. */
function GivenTo({ skill: { givenTo, profiles } }: { skill: Skill }): ReactNode {
  const names = (when: 'always' | 'asked') =>
    givenTo.filter((each) => each.when === when).map(({ agentId }) => <AgentLink key={agentId} id={agentId} />)
  const [always, asked] = [names('always'), names('asked')]
  if (givenTo.length === 0 && profiles.length === 0) return null
  return (
    <ul className={styles['given']}>
      {always.length > 0 && <li>given with every task to {always}</li>}
      {asked.length > 0 && <li>given when a task asks for it to {asked}</li>}
      {profiles.length > 0 && (
        <li>
          allowed by <span className="mono">{withoutBidi(profiles.join(', '))}</span>
        </li>
      )}
    </ul>
  )
}

function AgentLink({ id }: { id: string }): ReactNode {
  return (
    <Link href={`/agents/${encodeURIComponent(id.replace(/^@/, ''))}`} className={styles['agent']}>
      {withoutBidi(id)}
    </Link>
  )
}

function NoSkills({ isOnlyWrong }: { isOnlyWrong: boolean }): ReactNode {
  if (isOnlyWrong) return <EmptyState title="Every skill can be used" />
  return (
    <EmptyState title="No skills yet">
      <p>
        A skill is a markdown file with a name, a description and instructions. It works as an agent of its own, and the
        registry can give its instructions to other agents. Copy this into a terminal:
      </p>
      <pre>heddle agents new release-notes</pre>
    </EmptyState>
  )
}
