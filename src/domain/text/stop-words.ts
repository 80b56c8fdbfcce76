import { smallNumbers } from './number-words.ts'
import { spellingsIn } from './words.ts'

/** Verbs that say little, but what is asked of many things on one subject: "where does Anna work?" */
export const weakVerbs: ReadonlySet<string> = new Set(
  spellingsIn('want need like use used using work start stop keep brauche brauchen mag'),
)

/**
 * Words of European languages that say nothing about the topic of a message, folded like all words. Of languages other than
 * English and German only grammar, and none of it that is a noun in one of those two: "car", "font" and "son" are topics.
 */
export const stopWords: ReadonlySet<string> = new Set([
  ...smallNumbers,
  ...weakVerbs,
  ...spellingsIn(
    'the a an is are was were be been am to of in on at by for with and or but if so it its we our us you your they ' +
      'them their this that these those there here now do does did doe done has ha have had will would should could can cannot ' +
      'must may might not no yes ok as from than then when where which what who whom why how whose i me my mine he she ' +
      'his her him any some all each every both other others another one last next again still ' +
      'also too only just even yet already ever never always often more most less least very much many few lot bit ' +
      'please thank hello hi let get got give gave go goes going went come came make made take took put say said tell ' +
      'told show shown see seen look know think way thing something anything ' +
      'nothing somebody someone anybody nobody everybody people person new old good better best bad worse about after ' +
      'before between into out over under up down off through while until since because without within per same such ' +
      'own don isn doesn didn won re ve ll s t d m really add change fix write find help try start stop keep today ' +
      'yesterday tomorrow day week month year time ' +
      'hundred thousand number dear regard sincerely ' +
      'explain describe sentence paragraph ' +
      'der die das und oder ist sind war nicht kein ein eine einen mit von zu im am auf fur wie was wer wo wann warum ' +
      'ich du er sie es wir ihr mich dich uns bitte noch mal auch nur schon aber wenn dann den dem des ' +
      'der einer eines einem keine keinen bei bis aus nach vor fuer uber ueber unter um durch gegen ohne zum zur zwischen ' +
      'haben habe hat hatte hast sein bin bist waren wird werden wurde wurden kann kannst konnen koennen muss musst ' +
      'mussen muessen soll sollen will wollen darf durfen duerfen macht machen mach geht gehen gibt komm kommt ' +
      'welche welcher welches welchem welchen wieviel viele viel mehr sehr immer nie jetzt heute morgen gestern hier dort ' +
      'da doch nochmal eigentlich denn also dass weil ob als so ja nein man mir dir ihm ihnen ihn euch sich mein meine ' +
      'meinen dein deine seine ihre unser unsere unseren dieser diese dieses jeder jede jedes alle alles etwas nichts ' +
      'sag sagt schreib schreibe schreiben danke hallo ' +
      'hundert tausend ' +
      'liebe lieber liebes grusse gruesse gruss herzliche herzlichen erklar erklaer erklare erklaere ' +
      // French
      'le la les l un une des du de d au aux ce cet cette ces mon ma mes ta tes sa ses notre nos votre vos leur leurs quel ' +
      'quelle chaque plusieurs quelque tout toute tous toutes autre même aucun aucune je j tu il elle nous vous ils elles ' +
      'se lui eux y en qui que qu quoi dont où lequel laquelle celui celle ceux celles ceci cela ça c moi toi rien à dans ' +
      'par pour sur sous avec sans chez entre avant après depuis contre jusque jusqu et ou mais donc ni si comme ' +
      'quand lorsque puisque parce afin ainsi alors puis ne n pas plus moins très trop peu beaucoup bien aussi encore ' +
      'déjà jamais toujours souvent ici là maintenant demain hier aujourd hui oui non merci bonjour salut plaît voici ' +
      'voilà pourquoi combien être est suis sommes êtes sont était étaient été sera seront serait soit avoir avons avez ' +
      'ont avait avaient aurait faire fais fait faites peut peux pouvez peuvent pouvons pourrait dois doit devez ' +
      'doivent devrait veux veut voulez voudrais vais va vas allez vont aller viens vient venir faut sais sait dit ' +
      'dire mettre donne écris écrire explique expliquer montre trouve ajoute huit ' +
      'neuf première dernier dernière fois jour semaine mois année ' +
      // Spanish and Portuguese
      'el las una uno unos unas del al con por sobre hasta desde pero qué quien cual cuando donde como porque sí es ' +
      'fue ser está están estoy estar han hemos tiene tengo tienen puede puedo puedes hacer hace lo le mi sus ' +
      'nuestro nuestra este esta esto estos estas ese esa eso más muy menos también ya otro otra cada hoy ayer mañana ' +
      'gracias hola favor siete ocho nueve um uma do da das em na nas com mas quem qual onde não sim ' +
      'são foi estão tem tenho ter pode posso fazer faz lhe meu minha seu sua isso mais muito já hoje ontem amanhã ' +
      'obrigado obrigada olá dois três quatro ' +
      // Italian
      'gli di della dello dei delle degli dal dalla nel nella sul sulla per fra ma che chi cui cosa dove perché sono ho ' +
      'hanno abbiamo essere avere fa può ne mio mia tuo tua suo questo questa questi queste quello quella più ' +
      'molto anche ancora già sempre tutto tutta tutti ogni oggi ieri domani grazie ciao tre quattro cinque sei sette ' +
      'nove dieci ' +
      // Dutch
      'het een te bij voor naar uit om als dan dat die dit deze wie wat waar wanneer waarom hoe niet geen ' +
      'wel ook nog zijn wordt worden heeft hebben heb kan kunnen moet moeten zal zullen wil willen ik jij je hij zij ze ' +
      'wij jullie mij hun ons onze mijn jouw er daar nu veel meer iets niets graag dank bedankt twee drie vijf ' +
      'zes zeven negen tien ' +
      // Russian and Ukrainian
      'и в во не на я с со что как а то по но из у за от же ли бы к ко до для о об при без под над про через между ' +
      'после перед или если чтобы потому поэтому когда где куда откуда почему зачем кто чей какой какая какое какие ' +
      'который которая которые сколько это этот эта эти тот та те там тут здесь так такой такая уже еще ещё только ' +
      'очень более менее тоже также все всё весь вся всех всего мой моя мое мои твой ваш наш наша наши его ее её их он ' +
      'она оно они мы вы ты мне меня мной тебя тебе вам вас нам нас ему ей им себя быть есть был была было были буду ' +
      'будет будут будем нет да можно нужно надо могу может можете можешь могут хочу хотите хочет сделать делать ' +
      'сделай скажи скажите покажи покажите дай дайте пожалуйста спасибо привет здравствуйте сегодня завтра вчера ' +
      'сейчас теперь потом всегда никогда один одна два две три четыре пять раз день год ' +
      'і й та що як це цей ця ці він вона вони ми ви є був була були буде бути не від до для про через або якщо коли де ' +
      'куди чому хто який яка які скільки мене мені тебе вас нас його її їх можна треба будь ласка дякую привіт ' +
      // Japanese
      'はい いいえ ください お願いします ありがとうございました です でした ます ました ません',
  ),
])
