import type { AccountApp } from '../../api/account.ts'
import type { AccessScope } from '../../domain/access/actions.ts'
import { rankOf } from '../../domain/access/authorize.ts'
import { actingFor } from '../../domain/access/principal.ts'
import { isUntrusted } from '../../domain/label.ts'
import { senderLabel, userOf } from '../../engine/run/sender.ts'
import type { Runtime } from '../../engine/runtime.ts'
import type { Caller } from '../guard/caller.ts'

export function accountApp({ store }: Pick<Runtime, 'store'>, caller: Caller): AccountApp {
  return {
    whoami: () =>
      store.read(async (rows) => {
        const actor = actingFor(caller.principal)
        const rank = rankOf(caller.principal)
        const user = await userOf(rows, caller.text)
        return {
          principal: caller.text,
          rank,
          scopes: actor.kind === 'user' && actor.scopes ? ([...actor.scopes] as AccessScope[]) : null,
          trusted: !isUntrusted(await senderLabel(rows, caller.principal)),
          folder: rank === 'admin' ? null : (user?.folder ?? null),
          perDayUsd: user?.perDayUsd ?? null,
        }
      }),
  }
}
