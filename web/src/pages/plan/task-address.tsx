import { type ReactNode, useEffect } from 'react'
import { useLocation } from 'wouter'
import { useAddress } from '../../parts/address.ts'
import { Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { useTask } from './plan-data.ts'

/** `/tasks/5`: a task is shown beside its plan. */
export default function TaskAddress(): ReactNode {
  const { id = '' } = useAddress()
  const { data, error } = useTask(id)
  const [, navigate] = useLocation()
  useEffect(() => {
    if (data) navigate(`/plans/${data.planId}?task=${data.id}`, { replace: true })
  }, [data, navigate])
  return <Page title={`task:${id}`}>{error ? <Failure error={error} /> : <Loading />}</Page>
}
