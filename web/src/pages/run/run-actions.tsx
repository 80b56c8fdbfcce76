import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { post } from '../../api/request.ts'
import type { Run, UndoReport } from '../../api/wire.ts'
import { ActionDialog } from '../../parts/action-dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Failure, Loading } from '../../parts/notice.tsx'
import { isOver } from '../../parts/run-tree.ts'
import { copyToClipboard } from '../../text/copy-to-clipboard.ts'
import { countOf, shortId } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './run.module.css'

/** What can be done with a run: cancel it while it works, try it again, undo what it changed. */
export function RunActions({ run }: { run: Run }): ReactNode {
  const [open, setOpen] = useState<'cancel' | 'undo'>()
  const [, navigate] = useLocation()
  const isEnded = isOver(run)
  const retry = useMutation({
    mutationFn: () => post<{ runId: string | null }>(`/v1/runs/${run.id}/retry`),
    onSuccess: ({ runId }) => navigate(runId === null ? '/runs' : `/runs/${runId}`),
  })
  const bound = useMemo(
    () => [
      ...(isEnded ? [] : [{ keys: 's', does: 'Stop this run', run: () => setOpen('cancel') }]),
      { keys: 'y', does: 'Copy the link', run: () => void copyToClipboard(window.location.href) },
    ],
    [isEnded],
  )
  useKeys(bound)
  const close = () => setOpen(undefined)
  return (
    <>
      {!isEnded && (
        <Button look="danger" onClick={() => setOpen('cancel')}>
          Cancel
        </Button>
      )}
      {isEnded && (
        <Button disabled={retry.isPending} onClick={() => retry.mutate()}>
          Retry
        </Button>
      )}
      {isEnded && <Button onClick={() => setOpen('undo')}>Undo…</Button>}
      {retry.error && <Failure error={retry.error} />}
      <ActionDialog
        title={`Cancel run:${shortId(run.id)}?`}
        isOpen={open === 'cancel'}
        onClose={close}
        action="Cancel it"
        asksReason
        onConfirm={(reason) => post(`/v1/runs/${run.id}/cancel`, reason === '' ? {} : { reason })}
      >
        It stops at its next step, with every run that it started. What it has written so far stays; you can undo that
        afterwards.
      </ActionDialog>
      {open === 'undo' && <UndoDialog run={run} onClose={close} />}
    </>
  )
}

/** Says what an undo would change before anything is changed. */
function UndoDialog({ run, onClose }: { run: Run; onClose(): void }): ReactNode {
  const preview = useQuery({
    queryKey: ['undo', run.id],
    gcTime: 0,
    queryFn: () => post<UndoReport>(`/v1/runs/${run.id}/undo`, { dryRun: true }),
  })
  const report = preview.data
  const count = report?.restored.length ?? 0
  return (
    <ActionDialog
      title={`Undo run:${shortId(run.id)}?`}
      isOpen
      onClose={onClose}
      action={count === 0 ? 'Nothing to restore' : `Restore ${countOf(count, 'file')}`}
      onConfirm={async () => {
        if (count > 0) await post(`/v1/runs/${run.id}/undo`, { dryRun: false })
      }}
    >
      {preview.isPending && <Loading />}
      {preview.error && <Failure error={preview.error} />}
      {report && <UndoPreview report={report} />}
    </ActionDialog>
  )
}

function UndoPreview({ report: { restored, unchanged, refused, cannotUndo } }: { report: UndoReport }): ReactNode {
  const isNothing = restored.length + unchanged.length + refused.length + cannotUndo.length === 0
  if (isNothing) return <p>This run and what it started changed no files.</p>
  return (
    <div className="stack">
      <Paths title="Goes back to what it was before:" paths={restored} />
      <Paths title="Is already as it was before:" paths={unchanged} />
      {refused.length > 0 && (
        <div>
          <p className={styles['warning']}>Stays as it is:</p>
          <ul>
            {refused.map(({ path, why }) => (
              <li key={path}>
                <code>{withoutBidi(path)}</code> {withoutBidi(why)}
              </li>
            ))}
          </ul>
        </div>
      )}
      <Paths title="Cannot be undone (commands):" paths={cannotUndo.map(({ name, about }) => `${name} ${about}`)} />
    </div>
  )
}

function Paths({ title, paths }: { title: string; paths: string[] }): ReactNode {
  if (paths.length === 0) return null
  return (
    <div>
      <p>{title}</p>
      <ul>
        {paths.map((path, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same command may stand here twice
          <li key={at}>
            <code>{withoutBidi(path)}</code>
          </li>
        ))}
      </ul>
    </div>
  )
}
