import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { get, post, RequestError } from '../../api/request.ts'
import type { Registry } from '../../api/wire.ts'
import { Ago } from '../../parts/ago.tsx'
import { Button, buttonLook } from '../../parts/button.tsx'
import { Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { countOf } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import { JsonChanges, JsonEditor } from './json-editor.tsx'
import styles from './registry.module.css'
import { registrySchema } from './registry-schema.ts'

/** The registry of agents in an editor: findings while it is typed, a look at the changes before they are saved. */
export default function RegistryPage(): ReactNode {
  const registry = useQuery({
    queryKey: ['registry'],
    // What is edited must not change under the hands: saving finds out whether another user was faster.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: ({ signal }) => get<Registry>('/v1/agents/registry', {}, signal),
  })
  if (registry.data) return <RegistryEditor stored={registry.data} />
  return (
    <Page title="Registry">
      {registry.error ? <Failure error={registry.error} onRetry={() => registry.refetch()} /> : <Loading />}
    </Page>
  )
}

function RegistryEditor({ stored }: { stored: Registry }): ReactNode {
  const [base, setBase] = useState(stored)
  const [text, setText] = useState(() => textOf(stored))
  const [findings, setFindings] = useState(0)
  const [isLooking, setLooking] = useState(false)
  const [theirs, setTheirs] = useState<Registry>()
  const queries = useQueryClient()
  const isChanged = text !== textOf(base)
  const save = useMutation({
    mutationFn: () =>
      post<Registry>('/v1/agents/registry', { registry: JSON.parse(text), expectedVersion: base.version }),
    onSuccess: (saved) => {
      setBase(saved)
      setText(textOf(saved))
      setLooking(false)
      queries.setQueryData(['registry'], saved)
      void queries.invalidateQueries({ queryKey: ['agents'] })
    },
    onError: (error) => {
      if (error instanceof RequestError && error.newest !== undefined) setTheirs(error.newest as Registry)
    },
  })
  const takeAsBase = (mine: string) => {
    if (!theirs) return
    setBase(theirs)
    setText(mine)
    setTheirs(undefined)
    setLooking(false)
    save.reset()
  }
  return (
    <Page
      title="Registry"
      facts={
        <>
          <span>
            version {base.version}
            {base.updatedAt !== null && (
              <>
                , saved <Ago at={base.updatedAt} /> by {withoutBidi(base.updatedBy ?? 'another user')}
              </>
            )}
          </span>
          <span role="status">{findings > 0 ? countOf(findings, 'finding') : isChanged ? 'not saved yet' : ''}</span>
        </>
      }
      actions={
        <>
          <Link href="/agents" className={buttonLook('quiet')}>
            All agents
          </Link>
          {!isLooking && !theirs && (
            <Button look="main" disabled={!isChanged || findings !== 0} onClick={() => setLooking(true)}>
              See changes
            </Button>
          )}
          {isLooking && !theirs && (
            <>
              <Button look="quiet" onClick={() => setLooking(false)}>
                Back to the text
              </Button>
              <Button look="main" disabled={save.isPending} onClick={() => save.mutate()}>
                Save as version {base.version + 1}
              </Button>
            </>
          )}
        </>
      }
    >
      <p className={styles['about']}>
        The agents that work can be delegated to: a name, a profile (model and tools), and what each is for. This is the
        only policy that can be edited here.
      </p>
      {save.error && !theirs && <Failure error={save.error} />}
      {theirs ? (
        <Conflict base={base} theirs={theirs} mine={text} onTake={takeAsBase} />
      ) : isLooking ? (
        <JsonChanges label="What you changed" before={textOf(base)} after={text} />
      ) : (
        <JsonEditor
          key={base.version}
          label="Registry of agents"
          text={text}
          schema={registrySchema}
          onChange={(next, count) => {
            setText(next)
            if (count >= 0) setFindings(count)
          }}
        />
      )}
    </Page>
  )
}

interface ConflictProps {
  base: Registry
  theirs: Registry
  mine: string
  /** Goes on from the stored version with this text. */
  onTake(text: string): void
}

/** Another user saved meanwhile: what they changed and what you changed, from the version that both began with. */
function Conflict({ base, theirs, mine, onTake }: ConflictProps): ReactNode {
  return (
    <div className={styles['conflict']}>
      <div role="alert" className={styles['warning']}>
        <p>
          <strong>
            {withoutBidi(theirs.updatedBy ?? 'Another user')} saved version {theirs.version} while you were editing
            version {base.version}.
          </strong>{' '}
          Nothing of yours was saved, and nothing of theirs is overwritten.
        </p>
        <div className="row">
          <Button look="main" onClick={() => onTake(mine)}>
            Continue with my text
          </Button>
          <Button onClick={() => onTake(textOf(theirs))}>Take theirs, drop mine</Button>
        </div>
        <p className="small">With your text you see the changes against version {theirs.version} before you save.</p>
      </div>
      <div className={styles['sides']}>
        <section>
          <h2>Theirs, since version {base.version}</h2>
          <JsonChanges label="What they changed" before={textOf(base)} after={textOf(theirs)} />
        </section>
        <section>
          <h2>Yours, since version {base.version}</h2>
          <JsonChanges label="What you changed" before={textOf(base)} after={mine} />
        </section>
      </div>
    </div>
  )
}

function textOf({ registry }: Registry): string {
  return `${JSON.stringify(registry, null, 2)}\n`
}
