import { spellingsIn } from './words.ts'

/** Names of days and months and words of the clock, folded like all words: they meet in messages of any topic by chance. */
export const timeWords: ReadonlySet<string> = new Set(
  spellingsIn(
    'monday tuesday wednesday thursday friday saturday sunday weekend january february march april june july august ' +
      'september october november december clock morning afternoon evening noon midnight ' +
      'montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag wochenende woche januar februar märz mai juni juli ' +
      'oktober dezember uhr vormittag mittag nachmittag abend ' +
      'lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août septembre octobre ' +
      'novembre décembre heure matin soir ' +
      'lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre ' +
      'octubre noviembre diciembre tarde noche ' +
      'lunedì martedì mercoledì giovedì venerdì sabato domenica gennaio febbraio aprile maggio giugno luglio settembre ottobre ' +
      'dicembre mattina sera ' +
      'maandag dinsdag woensdag donderdag vrijdag zaterdag zondag januari februari maart juni juli augustus oktober ' +
      '来週 今週 先週 毎週 今日 明日 昨日 毎日 来月 今月 先月 今年 来年 午前 午後 月曜 火曜 水曜 木曜 金曜 土曜 日曜 曜日',
  ),
)
