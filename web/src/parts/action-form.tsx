import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Failure } from './notice.tsx'

interface ActionFormProps {
  /** What sends it, and how that went. */
  request: { mutate(): void; isPending: boolean; error: Error | null }
  /** What the button says. */
  action: string
  look?: 'main' | 'danger'
  /** Nothing was filled in that could be sent. */
  isEmpty?: boolean
  onClose(): void
  children: ReactNode
}

/** Fields with a button that sends them and one that leads back; stays, with the remedy, if it is refused. */
export function ActionForm({ request, action, look = 'main', isEmpty = false, onClose, children }: ActionFormProps) {
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        request.mutate()
      }}
    >
      {children}
      {request.error && <Failure error={request.error} />}
      <div className="row">
        <Button isSubmit look={look} disabled={request.isPending || isEmpty}>
          {action}
        </Button>
        <Button look="quiet" onClick={onClose}>
          Back
        </Button>
      </div>
    </form>
  )
}
