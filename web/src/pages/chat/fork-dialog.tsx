import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { post } from '../../api/request.ts'
import type { PathTurn } from '../../api/wire.ts'
import { ActionForm } from '../../parts/action-form.tsx'
import { Dialog } from '../../parts/dialog.tsx'

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
    <ActionForm request={fork} action="Fork" onClose={onClose}>
      <p>
        A new session begins after turn {turn.depth}, with everything that was said until then. {session} stays as it
        is.
      </p>
      <label className="field">
        Name of the new session
        <input
          value={label}
          onChange={({ target }) => setLabel(target.value)}
          placeholder="chosen for you"
          maxLength={200}
        />
      </label>
    </ActionForm>
  )
}
