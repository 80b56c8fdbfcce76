import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ActionForm } from './action-form.tsx'
import { Dialog } from './dialog.tsx'

interface ActionDialogProps {
  title: string
  isOpen: boolean
  onClose(): void
  /** What will happen. */
  children: ReactNode
  /** What the button says. */
  action: string
  /** Asks for a reason, which is stored with the decision. */
  asksReason?: boolean
  onConfirm(reason: string): Promise<unknown>
}

/** Says what a decision does, takes it, and stays open with the remedy if it is refused. */
export function ActionDialog({
  title,
  isOpen,
  onClose,
  children,
  action,
  asksReason,
  onConfirm,
}: ActionDialogProps): ReactNode {
  const [reason, setReason] = useState('')
  const queries = useQueryClient()
  const decision = useMutation({
    mutationFn: () => onConfirm(reason.trim()),
    onSuccess: () => {
      void queries.invalidateQueries()
      setReason('')
      onClose()
    },
  })
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <ActionForm request={decision} action={action} look="danger" onClose={onClose}>
        <div>{children}</div>
        {asksReason && (
          <label className="field">
            Why? (optional, kept with the decision)
            <input value={reason} onChange={({ target }) => setReason(target.value)} maxLength={1000} />
          </label>
        )}
      </ActionForm>
    </Dialog>
  )
}
