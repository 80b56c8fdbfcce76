import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Failure } from './notice.tsx'

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
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          decision.mutate()
        }}
      >
        <div>{children}</div>
        {asksReason && (
          <label className="field">
            Why? (optional, kept with the decision)
            <input value={reason} onChange={({ target }) => setReason(target.value)} maxLength={1000} />
          </label>
        )}
        {decision.error && <Failure error={decision.error} />}
        <div className="row">
          <Button isSubmit look="danger" disabled={decision.isPending}>
            {action}
          </Button>
          <Button look="quiet" onClick={onClose}>
            Back
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
