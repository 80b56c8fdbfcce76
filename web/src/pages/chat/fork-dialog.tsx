import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { post } from '../../api/request.ts'
import type { PathTurn } from '../../api/wire.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Failure } from '../../parts/notice.tsx'
import styles from './chat.module.css'

/** Starts a new session at a turn. */
export function ForkDialog({
  turn,
  session,
  onClose,
}: {
  turn: PathTurn | undefined
  session: string
  onClose(): void
}): ReactNode {
  return (
    <Dialog title={`Fork from turn ${turn?.depth ?? ''}`} isOpen={turn !== undefined} onClose={onClose}>
      {turn && <ForkForm turn={turn} session={session} onClose={onClose} />}
    </Dialog>
  )
}

function ForkForm({ turn, session, onClose }: { turn: PathTurn; session: string; onClose(): void }): ReactNode {
  const folder = useFolder()
  const [, navigate] = useLocation()
  const [label, setLabel] = useState('')
  const fork = useMutation({
    mutationFn: () =>
      post<{ session: string }>('/v1/turns/fork', {
        folder,
        turn: `turn:${turn.id}`,
        ...(label.trim() !== '' && { label: label.trim() }),
      }),
    onSuccess: ({ session: created }) => {
      onClose()
      navigate(`/s/${encodeURIComponent(created)}`)
    },
  })
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        fork.mutate()
      }}
    >
      <p>
        A new session begins after turn {turn.depth}, with everything that was said until then. {session} stays as it
        is.
      </p>
      <label className={styles['field']}>
        Name of the new session
        <input
          value={label}
          onChange={({ target }) => setLabel(target.value)}
          placeholder="chosen for you"
          maxLength={200}
        />
      </label>
      {fork.error && <Failure error={fork.error} />}
      <div className="row">
        <Button isSubmit look="main" disabled={fork.isPending}>
          Fork
        </Button>
        <Button look="quiet" onClick={onClose}>
          Back
        </Button>
      </div>
    </form>
  )
}
