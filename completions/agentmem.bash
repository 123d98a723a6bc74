# Completion of agentmem for bash 4.1 or newer (files only, in 3.2).
# Made from the commands themselves by `make docs`; `agentmem completion bash` prints it.
#
# Commands and options stand below, so that TAB starts no process for them; sessions,
# agents and places are asked for by `agentmem __complete`.

# Set what the command $1 takes: its own commands, options without and with a value
# (--option=what), and what each argument is (the last one, with +, is given many times).
_agentmem_table() {
    _subs= _flags= _vals= _args=
    case $1 in
    '')
        _subs='list show log as-of diff grep stats blobs scan export new append splice compact clear undo redo restore core value meta fork import rename redact rewrite remap verify repair gc prune rm schema completion'
        _flags='--no-color --no-pager --utc --debug --version --help -h'
        _vals='--root=@folders --lock-wait='
        ;;
    'list')
        _flags='--tree --json --help -h'
        _vals='--since=today,yesterday,1h,2h,1d,7d,30d --until=today,yesterday,1h,2h,1d,7d,30d --model= --label= --title= --larger=100kB,1MB,10MB,100MB,1GB --older=1h,12h,1d,7d,30d,90d --agent=@agents --project=@folders --sort=updated,started,size,messages,title,id --limit='
        ;;
    'show')
        _flags='--full --asides --follow --all --json --help -h'
        _vals='--agent=@agents --last= --from=@messages --to=@messages --as-of=@places --format=text,markdown,json,html --interval='
        _args='@sessions'
        ;;
    'log')
        _flags='--all --oneline --json --help -h'
        _vals='--agent=@agents --kind=header,state,retired,push,splice,halt,aside,reset --key=@keys'
        _args='@sessions'
        ;;
    'as-of')
        _flags='--full --json --help -h'
        _vals='--agent=@agents --last='
        _args='@sessions @places'
        ;;
    'diff')
        _flags='--full --json --help -h'
        _vals='--agent=@agents'
        _args='@sessions @places @places'
        ;;
    'grep')
        _flags='--fixed-strings -F --ignore-case -i --all --count -c --sessions-with-matches -l --json --help -h'
        _vals='--role=user,assistant,system,tool --tool= --after-context= -A= --before-context= -B= --context= -C= --agent=@agents --since=today,yesterday,1h,2h,1d,7d,30d --until=today,yesterday,1h,2h,1d,7d,30d --project=@folders --model= --label= --title= --larger=100kB,1MB,10MB,100MB,1GB --older=1h,12h,1d,7d,30d,90d'
        _args='- @sessions+'
        ;;
    'stats')
        _flags='--all --json --help -h'
        _vals='--agent=@agents --since=today,yesterday,1h,2h,1d,7d,30d --until=today,yesterday,1h,2h,1d,7d,30d --model= --label= --title= --larger=100kB,1MB,10MB,100MB,1GB --older=1h,12h,1d,7d,30d,90d --project=@folders'
        _args='@sessions+'
        ;;
    'blobs')
        _flags='--unused --missing --mismatched --all --force -f --json --help -h'
        _vals='--extract= --output=@folders -o=@folders'
        _args='@sessions'
        ;;
    'scan')
        _flags='--all --files --aggressive --no-rules --no-fingerprint --sarif --json --help -h'
        _vals='--pii=email,home,card,iban,ipv4,all --literals=@files --regexes=@files --env-file=@files --only= --skip= --keep= --allow=@files --allow-add=@files --jobs= -j= --project=@folders --since=today,yesterday,1h,2h,1d,7d,30d --until=today,yesterday,1h,2h,1d,7d,30d --model= --label= --title= --larger=100kB,1MB,10MB,100MB,1GB --older=1h,12h,1d,7d,30d,90d'
        _args='@sessions+'
        ;;
    'export')
        _flags='--force -f --json --help -h'
        _vals='--as=original,messages,jsonl,markdown,html,tar --shape=openai,anthropic --agent=@agents --as-of=@places --output=@files -o=@files'
        _args='@sessions'
        ;;
    'new')
        _flags='--json --help -h'
        _vals='--title= --label='
        _args='-'
        ;;
    'append')
        _flags='--json --help -h'
        _vals='--role=system,user,assistant --agent=@agents --author='
        _args='@sessions @files'
        ;;
    'splice')
        _flags='--force -f --dry-run -n --json --help -h'
        _vals='--with=@files --agent=@agents'
        _args='@sessions -'
        ;;
    'compact')
        _flags='--if-over --plan --dry-run -n --json --help -h'
        _vals='--agent=@agents --summarizer= --summary-file=@files --keep= --window= --focus= --policy=@files --time-limit='
        _args='@sessions'
        ;;
    'clear')
        _flags='--dry-run -n --json --help -h'
        _vals='--agent=@agents --keep= --keep-under= --policy=@files'
        _args='@sessions'
        ;;
    'undo')
        _flags='--compaction --dry-run -n --json --help -h'
        _vals='--agent=@agents --steps='
        _args='@sessions'
        ;;
    'redo')
        _flags='--dry-run -n --json --help -h'
        _vals='--agent=@agents --steps='
        _args='@sessions'
        ;;
    'restore')
        _flags='--dry-run -n --json --help -h'
        _vals='--agent=@agents'
        _args='@sessions @places'
        ;;
    'core')
        _subs='list show get render lint set append replace insert label remove clear edit protect unprotect config history diff blame undo restore export import'
        _flags='--help -h'
        ;;
    'core list')
        _flags='--json --help -h'
        _vals='--agent=@agents --as-of=@places'
        _args='@sessions'
        ;;
    'core show')
        _flags='--json --help -h'
        _vals='--agent=@agents --as-of=@places'
        _args='@sessions system,persona,human,facts,goals,scratch'
        ;;
    'core get')
        _flags='--hash --json --help -h'
        _vals='--agent=@agents --as-of=@places'
        _args='@sessions system,persona,human,facts,goals,scratch'
        ;;
    'core render')
        _flags='--digest --no-escape --json --help -h'
        _vals='--agent=@agents --as-of=@places'
        _args='@sessions'
        ;;
    'core lint')
        _flags='--json --help -h'
        _vals='--agent=@agents --as-of=@places'
        _args='@sessions'
        ;;
    'core set')
        _flags='--merge --force -f --dry-run -n --json --help -h'
        _vals='--label= --description= --agent=@agents --reason= --by= --if-match='
        _args='@sessions system,persona,human,facts,goals,scratch -'
        ;;
    'core append')
        _flags='--merge --force -f --dry-run -n --json --help -h'
        _vals='--agent=@agents --reason= --by= --if-match='
        _args='@sessions system,persona,human,facts,goals,scratch -'
        ;;
    'core replace')
        _flags='--all --merge --dry-run -n --json --help -h'
        _vals='--old= --new= --nth= --agent=@agents --reason= --by= --if-match='
        _args='@sessions system,persona,human,facts,goals,scratch'
        ;;
    'core insert')
        _flags='--merge --dry-run -n --json --help -h'
        _vals='--line= --agent=@agents --reason= --by= --if-match='
        _args='@sessions system,persona,human,facts,goals,scratch -'
        ;;
    'core label')
        _flags='--none --dry-run -n --json --help -h'
        _vals='--agent=@agents --reason= --by= --if-match='
        _args='@sessions system,persona,human,facts,goals,scratch -'
        ;;
    'core remove')
        _flags='--force -f --dry-run -n --json --help -h'
        _vals='--agent=@agents --reason= --by= --if-match='
        _args='@sessions system,persona,human,facts,goals,scratch'
        ;;
    'core clear')
        _flags='--force -f --dry-run -n --json --help -h'
        _vals='--agent=@agents --reason= --by= --if-match='
        _args='@sessions'
        ;;
    'core edit')
        _flags='--force -f --dry-run -n --json --help -h'
        _vals='--agent=@agents --reason= --by= --if-match='
        _args='@sessions system,persona,human,facts,goals,scratch'
        ;;
    'core protect')
        _flags='--dry-run -n --json --help -h'
        _vals='--description= --agent=@agents --reason= --by= --if-match='
        _args='@sessions system,persona,human,facts,goals,scratch'
        ;;
    'core unprotect')
        _flags='--dry-run -n --json --help -h'
        _vals='--agent=@agents --reason= --by= --if-match='
        _args='@sessions system,persona,human,facts,goals,scratch'
        ;;
    'core config')
        _flags='--force -f --dry-run -n --json --help -h'
        _vals='--max-bytes= --agent=@agents --reason= --by= --if-match='
        _args='@sessions'
        ;;
    'core history')
        _flags='--json --help -h'
        _vals='--last= --agent=@agents'
        _args='@sessions system,persona,human,facts,goals,scratch'
        ;;
    'core diff')
        _flags='--json --help -h'
        _vals='--agent=@agents'
        _args='@sessions @places @places'
        ;;
    'core blame')
        _flags='--json --help -h'
        _vals='--agent=@agents --as-of=@places'
        _args='@sessions system,persona,human,facts,goals,scratch'
        ;;
    'core undo')
        _flags='--force -f --dry-run -n --json --help -h'
        _vals='--steps= --agent=@agents --reason= --by= --if-match='
        _args='@sessions'
        ;;
    'core restore')
        _flags='--merge --force -f --dry-run -n --json --help -h'
        _vals='--as-of=@places --agent=@agents --reason= --by= --if-match='
        _args='@sessions system,persona,human,facts,goals,scratch'
        ;;
    'core export')
        _flags='--force -f --json --help -h'
        _vals='--format=json,markdown --output=@files -o=@files --agent=@agents --as-of=@places'
        _args='@sessions'
        ;;
    'core import')
        _flags='--only --force -f --dry-run -n --json --help -h'
        _vals='--agent=@agents --reason= --by= --if-match='
        _args='@sessions @files'
        ;;
    'value')
        _subs='list get set unset'
        _flags='--help -h'
        ;;
    'value list')
        _flags='--json --help -h'
        _vals='--agent=@agents'
        _args='@sessions'
        ;;
    'value get')
        _flags='--text --json --help -h'
        _vals='--agent=@agents'
        _args='@sessions @keys'
        ;;
    'value set')
        _flags='--text --force -f --json --help -h'
        _vals='--agent=@agents'
        _args='@sessions @keys -'
        ;;
    'value unset')
        _flags='--force -f --json --help -h'
        _vals='--agent=@agents'
        _args='@sessions @keys'
        ;;
    'meta')
        _subs='show title label refresh'
        _flags='--help -h'
        ;;
    'meta show')
        _flags='--json --help -h'
        _args='@sessions'
        ;;
    'meta title')
        _flags='--none --json --help -h'
        _args='@sessions -'
        ;;
    'meta label')
        _flags='--json --help -h'
        _vals='--remove='
        _args='@sessions -+'
        ;;
    'meta refresh')
        _flags='--json --help -h'
        _args='@sessions'
        ;;
    'fork')
        _flags='--json --help -h'
        _vals='--at=@places --agent=@agents --as-agent='
        _args='@sessions -'
        ;;
    'import')
        _flags='--no-source --again --watch --dry-run -n --verbose -v --json --help -h'
        _vals='--from=pi,claude-code,codex,openai-messages --since=today,yesterday,1h,2h,1d,7d,30d --interval='
        _args='@files+'
        ;;
    'rename')
        _flags='--force -f --json --help -h'
        _vals='--agent= --file= --if-idle=1h,12h,1d,7d,30d,90d'
        _args='@sessions -'
        ;;
    'redact')
        _flags='--all --files --aggressive --no-rules --no-fingerprint --drop-blobs --allow-unread --verify --force -f --dry-run -n --yes -y --json --help -h'
        _vals='--pii=email,home,card,iban,ipv4,all --literals=@files --regexes=@files --env-file=@files --only= --skip= --keep= --allow=@files --damaged=refuse,as-text --receipt=@files --if-idle=1h,12h,1d,7d,30d,90d --jobs= -j= --project=@folders --since=today,yesterday,1h,2h,1d,7d,30d --until=today,yesterday,1h,2h,1d,7d,30d --model= --label= --title= --larger=100kB,1MB,10MB,100MB,1GB --older=1h,12h,1d,7d,30d,90d'
        _args='@sessions+'
        ;;
    'rewrite')
        _flags='--all --files --force -f --dry-run -n --yes -y --json --help -h'
        _vals='--replace-file=@files --project=@folders --since=today,yesterday,1h,2h,1d,7d,30d --until=today,yesterday,1h,2h,1d,7d,30d --model= --label= --title= --larger=100kB,1MB,10MB,100MB,1GB --older=1h,12h,1d,7d,30d,90d --damaged=refuse,as-text --if-idle=1h,12h,1d,7d,30d,90d'
        _args='@sessions+'
        ;;
    'remap')
        _flags='--all --everywhere --force -f --dry-run -n --yes -y --json --help -h'
        _vals='--project=@folders --since=today,yesterday,1h,2h,1d,7d,30d --until=today,yesterday,1h,2h,1d,7d,30d --model= --label= --title= --larger=100kB,1MB,10MB,100MB,1GB --older=1h,12h,1d,7d,30d,90d --damaged=refuse,as-text --if-idle=1h,12h,1d,7d,30d,90d'
        _args='@sessions+'
        ;;
    'verify')
        _flags='--all --json --help -h'
        _args='@sessions+'
        ;;
    'repair')
        _flags='--all --tighten --set-aside-unknown --keep-first --force -f --dry-run -n --json --help -h'
        _vals='--if-idle=1h,12h,1d,7d,30d,90d'
        _args='@sessions+'
        ;;
    'gc')
        _flags='--all --though-lost --force -f --dry-run -n --yes -y --json --help -h'
        _vals='--young=1h,12h,1d,7d,30d,90d --if-idle=1h,12h,1d,7d,30d,90d'
        _args='@sessions+'
        ;;
    'prune')
        _flags='--force -f --dry-run -n --yes -y --json --help -h'
        _vals='--project=@folders --since=today,yesterday,1h,2h,1d,7d,30d --until=today,yesterday,1h,2h,1d,7d,30d --model= --label= --title= --larger=100kB,1MB,10MB,100MB,1GB --older=1h,12h,1d,7d,30d,90d --if-idle=1h,12h,1d,7d,30d,90d'
        ;;
    'rm')
        _flags='--force -f --dry-run -n --yes -y --json --help -h'
        _vals='--if-idle=1h,12h,1d,7d,30d,90d'
        _args='@sessions+'
        ;;
    'schema')
        _flags='--json --help -h'
        _args='agentmem.session/1,fork,part,tree-agent,agentmem.show/1,agentmem.message/1,agentmem.aside/1,agentmem.follow/1,agentmem.as-of/1,agentmem.record/1,agentmem.match/1,agentmem.match-count/1,agentmem.stats/1,agentmem.blob/1,agentmem.blob-extract/1,agentmem.new/1,agentmem.append/1,agentmem.value/1,agentmem.value-change/1,agentmem.meta/1,agentmem.fork/1,agentmem.verify/1,agentmem.repair/1,agentmem.gc/1,agentmem.rm/1,agentmem.import/1,agentmem.import-error/1,agentmem.export/1,agentmem.finding/1,agentmem.unread/1,agentmem.scan/1,agentmem.redact/1,agentmem.receipt/1,agentmem.remap/1,agentmem.rewrite/1,agentmem.rewrite-file/1,agentmem.rename/1,agentmem.schema/1,agentmem.completion/1,agentmem.failed/1,agentmem.compact/1,agentmem.compact-plan/1,agentmem.clear/1,agentmem.undo/1,agentmem.redo/1,agentmem.splice/1,agentmem.restore/1,agentmem.diff/1,agentmem.diff-message/1,agentmem.diff-value/1,agentmem.diff-core/1,tracked-set,summary-request,taken-back,diff-side,agentmem.core/1,agentmem.core-block/1,agentmem.core-render/1,agentmem.core-finding/1,agentmem.core-change/1,agentmem.core-config/1,agentmem.core-version/1,agentmem.core-diff/1,agentmem.core-line/1,agentmem.core-export/1,agentmem.core-file/1,error,byte-kinds,large-message,blob-use,damage,agent,finding,mended,unmended,garbage,checked,not-checked,flaw,torn,failure,left,unread,receipt-stopped,receipt-target,receipt-change,receipt-unread,receipt-left,rewritten-log,renamed,renamed-agent,core-size,core-listed,core-change,core-stored'
        ;;
    'completion')
        _flags='--json --help -h'
        _args='bash,zsh,fish'
        ;;
    *) return 1 ;;
    esac
}

# Read the line up to the cursor as the shell will: words without their quotes.
# The last word is the one to complete. Readline takes an open quote or one of
# COMP_WORDBREAKS for its beginning: _raw is what was typed behind that.
_agentmem_read() {
    local line=${COMP_LINE:0:COMP_POINT} char word= escaped= begun= from=0 kept_from=0 i
    _words=() _quote= _to= _expands=
    for ((i = 0; i < ${#line}; i++)); do
        char=${line:i:1}
        if [[ $escaped ]]; then
            [[ $_quote && $char != ['"$`\'] ]] && word+='\'
            word+=$char escaped=
        elif [[ $char == '\' && $_quote != "'" ]]; then
            escaped=1 begun=1
        elif [[ $_quote && $char == "$_quote" ]]; then
            _quote= from=$kept_from
        elif [[ $_quote ]]; then
            word+=$char
            [[ $_quote == '"' && $char == ['$`'] ]] && _expands=1
        elif [[ $char == ["'\""] ]]; then
            kept_from=$from
            _quote=$char begun=1 from=$((i + 1))
        elif [[ $char == [[:space:]'<>'] ]]; then
            [[ $begun ]] && _words+=("$word")
            [[ $begun ]] && _to=
            [[ $char == ['<>'] ]] && _to=1
            word= begun= from=$((i + 1)) _expands=
        else
            word+=$char begun=1
            [[ $char == ['$`'] ]] && _expands=1
            # Readline counts this one to the word that it begins.
            [[ $char == @ && $COMP_WORDBREAKS == *@* ]] && from=$i
            [[ $char != @ && $COMP_WORDBREAKS == *"$char"* ]] && from=$((i + 1))
        fi
    done
    _words+=("$word")
    _raw=${line:from}
}

# Set quoted to $1 as it has to be typed where the word to complete ends; with $2, so that
# it does not begin with a backslash.
_agentmem_quote() {
    local char i
    quoted=$1
    [[ $1 == *[\ \!\"\#\$\&\'\(\)\*\,\;\<\>\?\[\\\]\^\`\{\|\}\~]* ]] || return
    quoted=
    if [[ $2 ]]; then
        quoted=${1//"'"/"'\\''"}
        quoted="$_quote'$quoted'$_quote"
        return
    fi
    for ((i = 0; i < ${#1}; i++)); do
        char=${1:i:1}
        case $_quote$char in
        "''") char="'\\''" ;;
        "'"?) ;;
        '"!') char="\"'!'\"" ;;
        '"'[\"\$\`\\]) char="\\$char" ;;
        '"'?) ;;
        [\ \!\"\#\$\&\'\(\)\*\,\;\<\>\?\[\\\]\^\`\{\|\}\~]) char="\\$char" ;;
        esac
        quoted+=$char
    done
}

# Offer what begins as the word does, out of the lines of $1; $2 stands before each.
# Readline quotes only names of files that are there, so all is quoted here. What it
# inserts of several is what they have in common, which must not end within a quote.
_agentmem_offer() {
    local each common= quoted found=() other=1
    [[ $_expands ]] && return
    while IFS= read -r each; do
        each=$2${each%%$'\t'*}
        [[ $each != "$2" && $each == "$_cur"* ]] && found+=("${each#"$_cur"}")
    done <<< "$1"
    common=${found[0]-}
    for each in ${found[@]+"${found[@]}"}; do
        while [[ $each != "$common"* ]]; do common=${common%?}; done
    done
    for each in ${found[@]+"${found[@]}"}; do
        _agentmem_quote "${each#"$common"}" ''
        [[ $quoted == '\'* ]] || other=
    done
    ((${#found[@]} > 1)) || other=
    for each in ${found[@]+"${found[@]}"}; do
        _agentmem_quote "${each#"$common"}" "$other"
        each=$quoted other=
        _agentmem_quote "$common" ''
        COMPREPLY+=("$_raw$quoted$each")
    done
}

# Offer the values that $1 stands for; $2 is what stands before them in the same word.
_agentmem_values() {
    local begun=${_cur#"$2"} wide=0
    case $1 in
    @files) compopt -o default 2> /dev/null ;;
    @folders) compopt -o dirnames 2> /dev/null ;;
    @sessions)
        if [[ $_files ]]; then
            compopt -o default 2> /dev/null
        elif [[ $begun == */* || $begun == . || $begun == .. ]]; then
            compopt -o dirnames 2> /dev/null
        else
            _agentmem_offer "$("$_program" __complete sessions 0 "$_root" '' '' "$begun" 2> /dev/null)" "$2"
        fi
        ;;
    @agents | @places | @messages | @keys)
        compopt -o nosort 2> /dev/null
        _agentmem_offer "$("$_program" __complete "${1#@}" 0 "$_root" "$_session" "$_agent" "$begun" 2> /dev/null)" "$2"
        ;;
    -) ;;
    ?*)
        compopt -o nosort 2> /dev/null
        _agentmem_offer "${1//,/$'\n'}" "$2"
        ;;
    esac
}

_agentmem() {
    local _words _quote _raw _to _expands _subs _flags _vals _args _cur
    local _program _root= _session= _agent= _files= path= ended= place=0 word what i
    COMPREPLY=()
    _agentmem_read
    _cur=${_words[${#_words[@]} - 1]}
    if [[ $_to ]]; then
        compopt -o default 2> /dev/null
        return
    fi
    _program=${_words[0]}
    [[ $_program == '~/'* ]] && _program=$HOME/${_program#'~/'}
    _agentmem_table ''
    for ((i = 1; i < ${#_words[@]} - 1; i++)); do
        word=${_words[i]}
        if [[ ! $ended && $word == -- ]]; then
            ended=1
        elif [[ ! $ended && $word == -?* ]]; then
            what=${word#*=} word=${word%%=*}
            [[ $word == --files ]] && _files=1
            [[ " $_vals " == *" $word="* ]] || continue
            if [[ ${_words[i]} != *=* ]]; then
                # Its value is the next word: the one to complete, maybe.
                i=$((i + 1))
                if ((i == ${#_words[@]} - 1)); then
                    _agentmem_option "$word"
                    _agentmem_values "$what" ''
                    return
                fi
                what=${_words[i]}
            fi
            case $word in
            --root) _root=$what ;;
            --agent) _agent=$what ;;
            esac
        elif [[ $_subs ]]; then
            path=${path:+$path }$word
            _agentmem_table "$path" || return
        else
            _agentmem_argument
            [[ $what == @sessions && ! $_session ]] && _session=$word
            place=$((place + 1))
        fi
    done
    if [[ ! $ended && $_cur == --*=* ]]; then
        word=${_cur%%=*}
        _agentmem_option "$word"
        _agentmem_values "$what" "$word="
    elif [[ ! $ended && $_cur == -* ]]; then
        what=
        for word in $_flags $_vals; do what+=${word%%=*}$'\n'; done
        _agentmem_offer "$what" ''
    elif [[ $_subs ]]; then
        compopt -o nosort 2> /dev/null
        _agentmem_offer "${_subs// /$'\n'}" ''
    else
        _agentmem_argument
        _agentmem_values "$what" ''
    fi
}

# Set what to what the option $1 takes.
_agentmem_option() {
    local each
    what=
    for each in $_vals; do
        [[ ${each%%=*} == "$1" ]] && what=${each#*=}
    done
}

# Set what to the kind of the argument at the place that is reached.
_agentmem_argument() {
    local kinds
    read -r -a kinds <<< "$_args"
    what=${kinds[place]-}
    if [[ ! $what && ${#kinds[@]} -gt 0 && ${kinds[${#kinds[@]} - 1]} == *+ ]]; then
        what=${kinds[${#kinds[@]} - 1]}
    fi
    what=${what%+}
}

if ((BASH_VERSINFO[0] < 4)); then
    complete -o default -F _agentmem agentmem
else
    complete -F _agentmem agentmem
fi
