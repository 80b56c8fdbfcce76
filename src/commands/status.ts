import type { StatusView } from '../api/views/status.ts'
import { countNoun } from '../domain/text/count-noun.ts'
import { defineCommand } from './command.ts'
import { findLastUserMessage } from './last-user-message.ts'
import { factsBlock } from './outcome.ts'
import { userSessions } from './sessions.ts'

export const statusCommands = [
  defineCommand({
    name: 'status',
    usage: '/status',
    summary: 'pending approvals, running work, cost',
    example: '/status',
    action: 'run.status',
    async run({ app, folder, session, model, now }) {
      // No news: /log has them, and a busy day is long to read.
      const view = await app.status(folder, now)
      const [found] = (await app.sessions({ folder, label: session, ...userSessions })).rows
      const last = found?.headTurnId ? await findLastUserMessage(app, folder, session) : undefined
      const [first] = view.needsYou
      const { running, queued } = view
      return {
        blocks: [
          factsBlock({
            folder: view.folder,
            session: found ? `${found.label}, ${countNoun(found.depth, 'turn')}` : `${session}, new`,
            'last said': last === undefined ? undefined : `“${last}”`,
            model: model ?? view.model,
            spend: spendWords(view),
            'needs you':
              first === undefined ? undefined : `${view.needsYou.length}, first ${first}    ${lookAt(first)}`,
            running: queued > 0 ? `${running}, ${queued} queued    /runs` : running > 0 ? `${running}    /runs` : '0',
            'next job': view.nextFires[0] && `${view.nextFires[0].name} at ${view.nextFires[0].at}    /cron`,
          }),
        ],
      }
    },
  }),
]

/** The command that shows what waits for the user. */
function lookAt(reference: string): string {
  return reference.startsWith('plan:') ? `/show ${reference}` : '/approvals'
}

function spendWords({ spentTodayUsd, estimatedTodayUsd, lostTodayUsd, dayLimitUsd }: StatusView): string {
  const spent = `${estimatedTodayUsd > 0 ? '~' : ''}$${(spentTodayUsd + estimatedTodayUsd).toFixed(2)}`
  const lost = lostTodayUsd > 0 ? ` + at most ~$${lostTodayUsd.toFixed(2)} lost` : ''
  return `${spent}${lost} today${dayLimitUsd === null ? '' : ` of $${dayLimitUsd.toFixed(2)}`}`
}
