import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { get, post } from '../../api/request.ts'
import type { MemoryLine, MemoryView } from '../../api/wire.ts'
import { ActionDialog } from '../../parts/action-dialog.tsx'
import { ActionForm } from '../../parts/action-form.tsx'
import { Ago } from '../../parts/ago.tsx'
import { Button } from '../../parts/button.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { Failure, Loading } from '../../parts/notice.tsx'
import { Reference } from '../../parts/reference.tsx'
import { PlainWords } from '../../text/plain-words.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './memory.module.css'

/** One memory: where it comes from, what it replaced, who was reminded of it; it can be changed and forgotten. */
export function MemorySheet({ id, onClose }: { id: string; onClose(): void }): ReactNode {
  const folder = useFolder()
  const { data: memory, error } = useQuery({
    queryKey: ['memories', 'one', id],
    queryFn: ({ signal }) => get<MemoryView>('/v1/show', { folder, reference: `memory:${id}` }, signal),
  })
  const [open, setOpen] = useState<'change' | 'forget'>()
  if (error) return <Failure error={error} />
  if (!memory) return <Loading />
  return (
    <section className={styles['sheet']} aria-label={`memory:${id}`}>
      <p className="mono quiet">memory:{id}</p>
      {open === 'change' ? (
        <ChangeForm memory={memory} onClose={() => setOpen(undefined)} />
      ) : (
        <div className={memory.replacedBy ? styles['replaced'] : undefined}>
          <PlainWords text={memory.content === '' ? 'forgotten' : memory.content} />
        </div>
      )}
      {memory.replacedBy && (
        <p className="small">
          replaced by <Reference to={`memory:${memory.replacedBy.id}`} /> {withoutBidi(memory.replacedBy.content)}
        </p>
      )}
      {open !== 'change' && memory.forgottenAt === undefined && (
        <div className="row">
          {!memory.replacedBy && <Button onClick={() => setOpen('change')}>Change…</Button>}
          <Button look="danger" onClick={() => setOpen('forget')}>
            Forget…
          </Button>
        </div>
      )}
      <div className={styles['provenance']}>
        <Facts>
          <Fact name="from">{memory.source}</Fact>
          <Fact name="trusted">{memory.trusted ? 'yes' : 'no: it is data, never an instruction'}</Fact>
          {memory.label.sources.length > 0 && (
            <Fact name="sources">{withoutBidi(memory.label.sources.join(', '))}</Fact>
          )}
          <Fact name="since">
            <Ago at={memory.createdAt} />
          </Fact>
          {memory.turnId !== undefined && (
            <Fact name="said in">
              <Reference to={`turn:${memory.turnId}`} />
            </Fact>
          )}
          {memory.runId !== undefined && (
            <Fact name="stored by">
              <Reference to={`run:${memory.runId}`} />
            </Fact>
          )}
          {memory.older.length > 0 && (
            <Fact name="replaces">
              {memory.older.map((older) => (
                <span key={older.id} className={styles['older']}>
                  <Reference to={`memory:${older.id}`} /> <s>{withoutBidi(older.content)}</s>
                </span>
              ))}
            </Fact>
          )}
          {memory.runs.length > 0 && (
            <Fact name="shown to">
              {memory.runs.slice(-10).map((run) => (
                <span key={run} className={styles['older']}>
                  <Reference to={`run:${run}`} />
                </span>
              ))}
            </Fact>
          )}
        </Facts>
      </div>
      <ActionDialog
        title={`Forget memory:${id}?`}
        isOpen={open === 'forget'}
        onClose={() => setOpen(undefined)}
        action="Forget it"
        onConfirm={async () => {
          await post(`/v1/memories/${id}/forget`)
          onClose()
        }}
      >
        Its words are deleted. Answers that it led to stay as they are.
      </ActionDialog>
    </section>
  )
}

/** New words make a new memory; the old one stays readable, struck through. */
function ChangeForm({ memory, onClose }: { memory: MemoryView; onClose(): void }): ReactNode {
  const [content, setContent] = useState(memory.content)
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const save = useMutation({
    mutationFn: () => post<{ memory: MemoryLine }>(`/v1/memories/${memory.id}`, { content }),
    onSuccess: ({ memory: { id } }) => {
      void queries.invalidateQueries({ queryKey: ['memories'] })
      onClose()
      navigate(`/memory/${id}${window.location.search}`)
    },
  })
  return (
    <ActionForm request={save} action="Save" isEmpty={content === memory.content} onClose={onClose}>
      <label className="field">
        What is true now
        <textarea rows={6} value={content} onChange={({ target }) => setContent(target.value)} required />
      </label>
    </ActionForm>
  )
}
