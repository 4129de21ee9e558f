"""The functions of libtensortap_pytorch.so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Functions:
    """Built-in functions by name; positional arguments only.

    Attributes
    ----------
    untraced
        ``untraced(function of one argument)``: the same function, whose calls the program's profilers and tracers do not see.
    follow
        ``follow(function, before, after)``: what to put into the place of a function or method, so that its calls are followed without a
        Python frame: ``before`` gets their arguments and gives None, or ``(token, None)`` to have ``after(token, exception or None)``
        called (src/capture/python/followed_method.h).
    follow_in_place
        ``follow_in_place(function, before, after)``: the same for a Python function that stays in its place and is called
        ``f(*arguments)``; ``before`` gets no arguments.
    replace_in_place
        ``replace_in_place(function, instead)``: a call of the Python function from C runs ``instead(first argument)``, without a frame that
        the program's profilers see, and returns None.
    set_namers
        ``set_namers(name_called, root_called, requests)``: whom to ask for names of an unknown module, ``(module, path of the caller)``;
        whom to notify that a module is called while none runs, ``(module, arguments, names of the last of them)``, which gives whether it
        holds tensors, the phase of the model (7 = that of the call before) and whether an engine calls its model for a batch of requests;
        and what then gives these requests, as JSON, where the dump keeps them.
    follow_modules
        ``follow_modules(Module._call_impl, members of torch.compiler, begins, ends)``: follows the calls of modules from now on, but for
        those that torch.compile works on. Where calls are captured, ``begins(module, whether it is a root, arguments)`` gives what
        ``ends(that, whether it returned, result)`` gets, or None.
    watch_calls
        ``watch_calls(begins, ends)``: besides, and for each call of a module, ``begins(module, arguments, names of the last of them or
        None)`` gives what ``ends(that, whether it returned, what the program gets)`` gets, or None. None and None end it.
    follow_graphs
        ``follow_graphs(function that runs a graph, met)``: follows the runs of compiled graphs from now on, and calls ``met(graph)`` at the
        first of a graph that ``bind_graph`` did not say anything of.
    follow_compiler
        ``follow_compiler(function that gives a graph to Inductor, done)``: what runs inside is the compiler's; then ``done()``.
    bind_graph
        ``bind_graph(graph, flags, number of the module that it was compiled for)``: what is known of it: 2 it writes into what it is
        given, 4 dump nodes tell what it does, 8 it runs backward, 16 its kernels are reported.
    unbind_graph
        ``unbind_graph(address)``: the graph that was there is gone.
    note_output_argument
        ``note_output_argument("library::name.overload", slot, is_new)``: whether a compiled graph gives the operator a buffer that it did
        nothing with, to write into.
    bind
        ``bind(module, path)``: the module has this path; gives its number.
    unbind
        ``unbind(address)``: the module that was there is gone.
    module_id
        ``module_id(module)``: its number, 0 when it has none.
    current_path
        ``current_path()``: the path of the module that runs on this thread.
    name_parameter
        ``name_parameter(address, name)``: what the parameter is called whose storage has this data pointer.
    forget_parameter
        ``forget_parameter(address)``: it is there no longer.
    parameter_name
        ``parameter_name(address)``: the name, or "".
    prepare_source
        ``prepare_source(folders, exceptions)``: whose code is not the program's. Gives whether frames can be walked without the GIL.
    program_file
        ``program_file(file)``: the file as positions name it, "" for one that is not the program's.
    describe_code
        ``describe_code(code object, rows)``: the origin of the lines of code that torch made: (line, "file:line", path of a module).
    walk_frames
        ``walk_frames(enabled)``: whether to do that; gives whether it is done.
    where
        ``where()``: "file:line" of the caller in the program's own code.
    ends
        ``ends()``: the interpreter begins to end.
    takes_nodes
        ``takes_nodes()``: whether nodes of compiled graphs are captured by dump nodes; the operator ``tensortap::dump`` is there then.
    add_node
        ``add_node((op, overload, module's path, "file:line", autograd node's name, attributes, names of inputs, number of its forward
        node, path that was compiled))``: gives its number, 0 when it cannot be captured.
    wants_node
        ``wants_node(number, number of the module that its graph runs for)``: 1 when anything of it may be wanted, plus 2 when it gives
        memory that was never written.
    add_site
        ``add_site((number, phase, flags), rows)``: gives the number for ``tensortap::dump``, -1 when it cannot be captured; of each
        slot the position of its tensor, kind, slot, element, flags.
    graph_begins
        ``graph_begins(number of the module that was compiled, backward)``: a graph with dump nodes begins to run on this thread; gives the
        number of the module that it runs for, -1 when nothing is captured now.
    path_number
        ``path_number(path)``: the number of a module's path.
    graph_ends
        ``graph_ends()``: it ends; only where ``graph_begins`` did not give -1.
    wrote_unseen
        ``wrote_unseen()``: a graph wrote into memory, and nothing told into which.
    add_kernel
        ``add_kernel((name, attributes))``: gives the number of a node for ``add_site``, 0 when it cannot be captured.
    launch_begins
        ``launch_begins(number of a node, whether gradients are recorded, names of its inputs)``: such a kernel is launched on this
        thread; gives the phase for its sites, -1 when nothing of it is captured.
    launch_ends
        ``launch_ends()``: it was launched, and told.
    compile_begins
        ``compile_begins()``: torch.compile works on this thread: operators are not captured, names of autograd nodes are collected.
    compile_ends
        ``compile_ends()``: it is done.
    autograd_names
        ``autograd_names()``: the names so far, "SEQUENCE_NUMBER NAME" in a line each.
    level_of_call
        ``level_of_call(whether it is a root)``: at which level a module's call is captured, -1 when it is not.
    add_module
        ``add_module(number of the module, class, level)``: gives the number of a node for ``add_site``, 0 when it cannot be captured.
    tells_calls_apart
        ``tells_calls_apart()``: whether each call of a module or an operator is an op of its own, and steps are rounds of a phase.
    tells_reads_after
        ``tells_reads_after()``: whether the event at the end of a module's call holds what the call read, too.
    round_begins
        ``round_begins(number of a module, phase)``: the model is called, 1 prefill, 2 decode, 3 train.
    operation_begins
        ``operation_begins(number of a node, unseen)``: a module is called; 0 is one that is no operation. `unseen`: nothing will tell what
        it read and made. Gives what ``operation_ends`` gets.
    operation_ends
        ``operation_ends(what operation_begins gave)``: the call has returned or raised.
    open_model
        ``open_model((config, its name, the graph's name, the program, "YYYYmmddHHMMSS"), device)``: a session for one compiled graph; gives
        its number, or what went wrong.
    add_model_op
        ``add_model_op(graph, (name, type, operator, overload, module's path, "file:line", attributes, name of the original), names of
        inputs, numbers of the nodes that make them, which of their outputs)``: gives the number of a node for ``wants_node`` and
        ``add_site``, 0 when it cannot be captured.
    bind_model
        ``bind_model(graph)``: all ops are there; gives "" or what is wrong.
    model_step_begins
        ``model_step_begins(graph, step)``: a call of the graph begins on this thread; gives whether anything of it is wanted.
    model_step_ends
        ``model_step_ends(graph, step)``: it ends, and its files are there; only where ``model_step_begins`` gave True.
    close_model
        ``close_model(graph)``: it runs no more; gives the report as JSON text.
    note_compiled
        ``note_compiled(count)``: so many more graphs ran that Inductor compiled.
    compiled_graphs
        ``compiled_graphs()``: how many did.
    recording_begins
        ``recording_begins()``: the program begins to record a graph of a device.
    recording_ends
        ``recording_ends()``: it ends; gives how many operators ran meanwhile.
    note_replay
        ``note_replay(number, operators)``: the graph of this number, from 1, is replayed; so many operators recorded it, 0 is not known.
    can_open
        ``can_open()``: whether the library takes sessions by ``open``.
    open
        ``open(config, name, folder)``: begins to capture; gives "" or what went wrong.
    close
        ``close()``: ends it; gives the report as JSON text.
    enable
        ``enable(on)``: goes on or pauses.
    worker_begins
        ``worker_begins()``: this process is a worker of a ``DataLoader``.
    step
        ``step()``: a step ends here.
    optimizer_steps
        ``optimizer_steps(address)``: the optimizer there begins its step on this thread.
    optimizer_made
        ``optimizer_made(address)``: the program made an optimizer; 0 = its address is not known.
    optimizer_gone
        ``optimizer_gone(address)``: the optimizer that was there is gone.
    program_raised
        ``program_raised(text, lines)``: an exception ended the program, which came through these lines, "file:line", the innermost last;
        gives whether an op failed at one of them.
    set_dump
        ``set_dump(number of a module, op, enabled)``: op "" is the module and what it holds, module 0 is any.
    add_fact
        ``add_fact(name, JSON text)``: something that is so for the whole process or its job: a member of ``runtime`` in run.json.
    names_groups
        ``names_groups()``: whether the operator ``tensortap::name_group`` is there, which tells the name of a process group.
    """

    untraced: Callable[[Callable[[Any], None]], Callable[[Any], None]]
    follow: Callable[[object, Callable[..., Any], Callable[[Any, BaseException | None], None]], Any]
    follow_in_place: Callable[[object, Callable[[], Any], Callable[[Any, BaseException | None], None]], None]
    replace_in_place: Callable[[object, Callable[[Any], None]], None]
    set_namers: Callable[[Callable[[Any, str], None], Callable[[Any, Any, Any], tuple[bool, int, bool]], Callable[[], str]], None]
    follow_modules: Callable[[object, dict[str, Any], Callable[[Any, bool, Any], Any], Callable[[Any, bool, Any], None]], None]
    watch_calls: Callable[[Callable[[Any, Any, Any], Any] | None, Callable[[Any, bool, Any], None] | None], None]
    follow_graphs: Callable[[object, Callable[[Any], None]], None]
    follow_compiler: Callable[[object, Callable[[], None]], None]
    bind_graph: Callable[[object, int, int], None]
    unbind_graph: Callable[[int], None]
    note_output_argument: Callable[[str, int, bool], None]
    bind: Callable[[object, str], int]
    unbind: Callable[[int], None]
    module_id: Callable[[object], int]
    current_path: Callable[[], str]
    name_parameter: Callable[[int, str], None]
    forget_parameter: Callable[[int], None]
    parameter_name: Callable[[int], str]
    prepare_source: Callable[[Sequence[str], Sequence[str]], bool]
    program_file: Callable[[str], str]
    describe_code: Callable[[object, Iterable[tuple[int, str, str]]], None]
    walk_frames: Callable[[bool], bool]
    where: Callable[[], str]
    ends: Callable[[], None]
    takes_nodes: Callable[[], bool]
    add_node: Callable[[tuple[Any, ...]], int]
    wants_node: Callable[[int, int], int]
    add_site: Callable[[tuple[int, int, int], Iterable[tuple[int, int, int, int, int]]], int]
    graph_begins: Callable[[int, bool], int]
    path_number: Callable[[str], int]
    level_of_call: Callable[[bool], int]
    add_module: Callable[[int, str, int], int]
    tells_calls_apart: Callable[[], bool]
    tells_reads_after: Callable[[], bool]
    round_begins: Callable[[int, int], None]
    operation_begins: Callable[[int, bool], int]
    operation_ends: Callable[[int], None]
    graph_ends: Callable[[], None]
    wrote_unseen: Callable[[], None]
    add_kernel: Callable[[tuple[str, str]], int]
    launch_begins: Callable[[int, bool, Iterable[str]], int]
    launch_ends: Callable[[], None]
    compile_begins: Callable[[], None]
    compile_ends: Callable[[], None]
    autograd_names: Callable[[], str]
    open_model: Callable[[tuple[str, str, str, str, str], int], int | str]
    add_model_op: Callable[[int, tuple[str, ...], Iterable[str], Iterable[int], Iterable[int]], int]
    bind_model: Callable[[int], str]
    model_step_begins: Callable[[int, int], bool]
    model_step_ends: Callable[[int, int], None]
    close_model: Callable[[int], str]
    note_compiled: Callable[[int], None]
    compiled_graphs: Callable[[], int]
    recording_begins: Callable[[], None]
    recording_ends: Callable[[], int]
    note_replay: Callable[[int, int], None]
    can_open: Callable[[], bool]
    open: Callable[[str, str, str], str]
    close: Callable[[], str]
    enable: Callable[[bool], None]
    worker_begins: Callable[[], None]
    step: Callable[[], None]
    optimizer_steps: Callable[[int], None]
    optimizer_made: Callable[[int], None]
    optimizer_gone: Callable[[int], None]
    program_raised: Callable[[str, Sequence[str]], bool]
    set_dump: Callable[[int, str, bool], None]
    add_fact: Callable[[str, str], None]
    names_groups: Callable[[], bool]
