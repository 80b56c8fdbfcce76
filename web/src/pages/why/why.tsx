import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { linkLabel } from '../../../../src/api/words/link-label.ts'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import type { Why } from '../../api/wire.ts'
import { useAddress } from '../../parts/address.ts'
import { Ago } from '../../parts/ago.tsx'
import { buttonLook } from '../../parts/button.tsx'
import { useKeys } from '../../parts/keys.ts'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Reference } from '../../parts/reference.tsx'
import { countOf } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './why.module.css'

type WhyLink = Why['chain'][number]
type Consequence = NonNullable<Why['forward']>['came'][number]

/** Where something comes from, step by step back to what a person said; or its consequences. */
export default function WhyPage(): ReactNode {
  const folder = useFolder()
  const params = useAddress()
  const reference = params['*'] ?? ''
  const [search] = useSearchParams()
  const isForward = search.has('forward')
  const [, navigate] = useLocation()
  const here = `/why/${encodeURIComponent(reference)}`
  const turned = isForward ? here : `${here}?forward`
  useKeys(
    useMemo(
      () => [{ keys: 'v', does: 'Turn between cause and consequence', run: () => navigate(turned) }],
      [turned, navigate],
    ),
  )
  const why = useQuery({
    queryKey: ['why', folder, reference, isForward],
    queryFn: ({ signal }) => get<Why>('/v1/why', { folder, reference, forward: isForward }, signal),
  })
  return (
    <Page
      title={`Why ${withoutBidi(reference)}`}
      heading={
        <>
          {isForward ? 'Consequences of' : 'Why'} <span className="mono">{withoutBidi(reference)}</span>
        </>
      }
      actions={
        <Link href={turned} className={buttonLook()}>
          {isForward ? 'Why is it there?' : 'Consequences'}
        </Link>
      }
      width="reading"
    >
      {why.error && (
        <>
          <Failure error={why.error} onRetry={() => void why.refetch()} />
          <EmptyState title="What can be asked">
            <p>
              Any reference: <code>turn:…</code>, <code>run:…</code>, <code>task:3</code>, <code>result:4</code>,{' '}
              <code>memory:1</code>, or a line of a file, as in <code>REPORT.md:7</code>.
            </p>
          </EmptyState>
        </>
      )}
      {why.isPending && <Loading />}
      {why.data && (isForward ? <Forward why={why.data} /> : <Backward why={why.data} />)}
    </Page>
  )
}

function Backward({ why: { chain, notes, file, story } }: { why: Why }): ReactNode {
  return (
    <>
      {file && <FileAuthors file={file} />}
      <ol className={styles['ladder']}>
        {chain.map((link, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a chain may pass the same thing twice
          <Rung key={at} link={link} />
        ))}
      </ol>
      {notes.length > 0 && (
        <Section title="On the way">
          <ul className={styles['notes']}>
            {notes.map(({ topic, text, at, ref }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: notes have no name
              <li key={index}>
                <span className={styles['how']}>{topic}</span>
                <PlainWords text={text} />
                <span className="quiet small">
                  {ref !== undefined && <Reference to={ref} />} {at !== null && <Ago at={at} />}
                </span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {story && story.told.length > 0 && (
        <Section title="Told in">
          <ol className={styles['ladder']}>
            {story.told.map((link) => (
              <Rung key={`${link.kind}:${link.id}`} link={link} />
            ))}
          </ol>
        </Section>
      )}
    </>
  )
}

/** One step: how it led to the step before, and what it is. */
function Rung({ link }: { link: WhyLink }): ReactNode {
  const isPerson = link.how === 'you said' || link.kind === 'message'
  const about = [link.agent && `@${link.agent}`, link.model, link.tool].filter(
    (word) => word !== undefined && word !== '',
  )
  return (
    <li className={isPerson ? styles['person'] : styles['rung']}>
      <p className={styles['how']}>
        {linkLabel(link.how)} {link.kind !== 'message' && <Reference to={`${link.kind}:${link.id}`} />}
        {link.missing && ' (its records are gone)'}
      </p>
      {/* The brief follows the title of what an agent was given. */}
      <PlainWords text={isPerson ? link.title : (link.title.split(' ## ')[0] ?? '')} isSerif={isPerson} />
      <p className="quiet small">
        {about.join(' · ')} {link.at !== null && <Ago at={link.at} />}
      </p>
      {link.read && link.read.count > 0 && (
        <p className="quiet small">
          read {countOf(link.read.count, 'file')} under {withoutBidi(link.read.under)}
          {link.read.changed.length > 0 && `; changed since: ${withoutBidi(link.read.changed.join(', '))}`}
        </p>
      )}
      {link.given && link.given.length > 0 && (
        <p className="row small">
          was given{' '}
          {link.given.map((id) => (
            <Reference key={id} to={`result:${id}`} />
          ))}
        </p>
      )}
    </li>
  )
}

function FileAuthors({ file }: { file: NonNullable<Why['file']> }): ReactNode {
  return (
    <div className={styles['file']}>
      {file.text !== undefined && <pre>{withoutBidi(file.text)}</pre>}
      <p className="small">
        {file.lines === null ? 'The file cannot be read now.' : countOf(file.lines, 'line')}
        {file.writers.map(({ runId, agent, lines }) => (
          <span key={runId}>
            {' · '}
            {countOf(lines, 'line')} by {agent === null ? '' : `@${agent} `}
            <Reference to={`run:${runId}`} />
          </span>
        ))}
        {file.others > 0 && ` · ${countOf(file.others, 'line')} that no run here wrote`}
      </p>
    </div>
  )
}

function Forward({ why: { forward } }: { why: Why }): ReactNode {
  if (!forward || forward.came.length === 0)
    return (
      <EmptyState title="No consequences yet">
        <p>Here you see what was started, written, decided or remembered because of it.</p>
      </EmptyState>
    )
  return <Consequences came={forward.came} leftOut={forward.leftOut} />
}

function Consequences({ came, leftOut }: { came: Consequence[]; leftOut: number }): ReactNode {
  return (
    <ul className={styles['came']}>
      {came.map((each) => (
        <li key={`${each.kind}:${each.id}`}>
          <p>
            <span className={styles['how']}>{linkLabel(each.how)}</span> <Reference to={`${each.kind}:${each.id}`} />{' '}
            {each.agent !== undefined && `@${each.agent} `}
            {withoutBidi(each.title)}
          </p>
          {each.came.length + each.leftOut > 0 && <Consequences came={each.came} leftOut={each.leftOut} />}
        </li>
      ))}
      {leftOut > 0 && <li className="quiet small">and {leftOut} more</li>}
    </ul>
  )
}
