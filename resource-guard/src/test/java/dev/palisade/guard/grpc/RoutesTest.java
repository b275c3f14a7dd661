package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.grants.Grants;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Check;
import dev.palisade.guard.Guard;
import dev.palisade.guard.HeldMarks;
import dev.palisade.guard.grpc.shop.BrokenGrpc;
import dev.palisade.guard.grpc.shop.Item;
import dev.palisade.guard.grpc.shop.Place;
import dev.palisade.guard.grpc.shop.PlainGrpc;
import dev.palisade.guard.grpc.shop.ShopGrpc;
import io.grpc.MethodDescriptor;
import io.grpc.ServiceDescriptor;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What binds a method to its lock, and what is refused before the first call. */
class RoutesTest {
    private final Guard guard =
            Guard.builder(new Grants().verifier(), new HeldMarks()).build();

    @AfterEach
    void close() {
        guard.close();
    }

    @Test
    void everyProblemOfAServiceIsToldAtOnceInALineOfItsOwn() {
        assertThatThrownBy(() -> GuardInterceptor.of(guard, BrokenGrpc.getServiceDescriptor()))
                .isInstanceOfSatisfying(IllegalArgumentException.class, e -> {
                    List<String> lines = String.valueOf(e.getMessage()).lines().toList();
                    assertThat(lines).hasSize(10);
                    said(lines, "NotMarked", "nothing says which lock guards it");
                    said(lines, "Empty", "its lock is empty");
                    said(lines, "NoSuchField", "field 'idd' of shop.Item does not exist; fields are id, text");
                    said(lines, "NotText", "field 'flag' of shop.Item is no string and no integer");
                    said(lines, "Repeated", "field 'tags' of shop.Item is no string and no integer");
                    said(lines, "IntoText", "field 'id' of shop.Item is no single message");
                    said(lines, "WholeMessage", "field 'place' of shop.Item is no string and no integer");
                    said(lines, "Brace", "holds a brace that is no placeholder");
                    said(lines, "NoName", "can never be a lock's name");
                });
    }

    private static void said(List<String> lines, String method, String what) {
        assertThat(lines)
                .anySatisfy(line -> assertThat(line)
                        .startsWith("shop.Broken/" + method + ": ")
                        .contains(what));
    }

    @Test
    void whatIsSaidTwiceOrOfNobodyOrCannotBeDoneIsRefused() {
        GuardInterceptor.Builder builder = GuardInterceptor.builder(guard, PlainGrpc.getServiceDescriptor())
                .method(PlainGrpc.getMoveMethod(), Access.WRITE, "items/{id}")
                .method(PlainGrpc.getMoveMethod(), Access.WRITE, Item::getId)
                .check(PlainGrpc.getMoveMethod(), Check.ONLINE)
                .unguarded(PlainGrpc.getMoveMethod())
                .check(PlainGrpc.getPingMethod(), Check.ONLINE)
                .method(ShopGrpc.getPutMethod(), Access.WRITE, "items/{id}");
        assertThatThrownBy(builder::build)
                .hasMessageContaining("shop.Plain/Move: it is bound twice")
                .hasMessageContaining("shop.Plain/Move: it is bound and said to be unguarded")
                .hasMessageContaining("shop.Plain/Ping: it has a check and no lock")
                .hasMessageContaining("shop.Shop/Put: it is of none of the guarded services");
        assertThatThrownBy(() -> GuardInterceptor.builder(guard, ShopGrpc.getServiceDescriptor())
                        .check(ShopGrpc.getPutMethod(), Check.ONLINE)
                        .build())
                .hasMessageContaining("shop.Shop/Put: an ONLINE check needs a guard with a lock service");
    }

    @Test
    void aMethodThatNobodySpokeOfIsRefused() {
        Routes routes =
                GuardInterceptor.of(guard, ShopGrpc.getServiceDescriptor()).routes();
        assertThat(routes.isUnguarded("shop.Plain/Move")).isFalse();
        assertThatThrownBy(() -> routes.of("shop.Plain/Move"))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.PERMISSION_DENIED));
    }

    @Test
    void onlyWhatIsSaidToBeUnguardedIsAndNothingThatIsBound() {
        Routes routes = GuardInterceptor.builder(
                        guard, ShopGrpc.getServiceDescriptor(), PlainGrpc.getServiceDescriptor())
                .method(PlainGrpc.getMoveMethod(), Access.WRITE, "items/{id}")
                .unguarded(PlainGrpc.getPingMethod())
                .unguarded(BrokenGrpc.getServiceDescriptor())
                .build()
                .routes();
        assertThat(routes.isUnguarded("shop.Plain/Ping")).isTrue();
        assertThat(routes.isUnguarded("shop.Broken/Fine")).isTrue();
        assertThat(routes.isUnguarded("palisade.v1.Guard/Claim")).isTrue();
        assertThat(routes.isUnguarded("shop.Plain/Move")).isFalse();
        assertThat(routes.isUnguarded("shop.Shop/Put")).isFalse();
    }

    @Test
    void theOptionIsReadAlsoWhereItIsAnUnknownField() throws Exception {
        ServiceDescriptor foreign = foreign();
        Routes routes = GuardInterceptor.of(guard, foreign).routes();
        assertThat(routes.of("shop.Shop/Get").access()).isEqualTo(Access.READ);
        assertThat(routes.of("shop.Shop/Put").access()).isEqualTo(Access.WRITE);
    }

    @Test
    void aNameIsMadeOfTheFieldsAsTheyAre() {
        MethodDescriptor<Item, ?> fine = BrokenGrpc.getFineMethod();
        FieldTemplate template = FieldTemplate.parse(
                "{place.shelf}/{place.row}/{id}/{serial}/{maybe}",
                ((ProtoMethodDescriptorSupplier) fine.getSchemaDescriptor())
                        .getMethodDescriptor()
                        .getInputType());
        Item whole = Item.newBuilder()
                .setPlace(Place.newBuilder().setShelf("a/b").setRow(-7))
                .setId("x")
                .setSerial(-1)
                .setMaybe(0)
                .build();
        assertThat(template.lockOf(whole).value()).isEqualTo("a/b/-7/x/18446744073709551615/0");
        for (Item empty : List.of(
                whole.toBuilder().clearMaybe().build(),
                whole.toBuilder().clearSerial().build(),
                whole.toBuilder().clearId().build(),
                whole.toBuilder().clearPlace().build())) {
            assertThatThrownBy(() -> template.lockOf(empty))
                    .isInstanceOfSatisfying(
                            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.MALFORMED_REQUEST));
        }
    }

    @Test
    void aTemplateKnowsWhatItCanName() {
        FieldTemplate template = FieldTemplate.parse("a/{id}/b/{text}", Item.getDescriptor());
        assertThat(List.of("a/1/b/2", "a/1/2/b/3", "a//b/b/x", "a/b/b/b/b")).allMatch(template::canName);
        assertThat(List.of("a/1/b/", "a//b/x", "b/1/b/2", "a/1/c/2", "a/1/b", "x", ""))
                .noneMatch(template::canName);
        FieldTemplate ends = FieldTemplate.parse("{id}-{text}!", Item.getDescriptor());
        assertThat(List.of("a-b!", "a-b!!", "--!-!")).allMatch(ends::canName);
        assertThat(List.of("a-!", "-b!", "a-b", "!")).noneMatch(ends::canName);
        FieldTemplate fixed = FieldTemplate.parse("all", Item.getDescriptor());
        assertThat(fixed.canName("all")).isTrue();
        assertThat(fixed.canName("all of it")).isFalse();
    }

    @Test
    void whatAFunctionThrowsOrLeavesOutRefusesTheRequest() {
        Routes routes = GuardInterceptor.builder(guard, PlainGrpc.getServiceDescriptor())
                .method(PlainGrpc.getMoveMethod(), Access.WRITE, request -> request.getTags(0))
                .resources(PlainGrpc.getPingMethod(), Access.READ, request -> List.of())
                .build()
                .routes();
        for (String method : List.of("shop.Plain/Move", "shop.Plain/Ping")) {
            assertThatThrownBy(() -> routes.of(method).resources(Item.getDefaultInstance()))
                    .isInstanceOfSatisfying(
                            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.MALFORMED_REQUEST));
        }
    }

    @Test
    void onlyWhatTheBindingsCanNameIsBound() {
        Routes routes = GuardInterceptor.builder(
                        guard, PlainGrpc.getServiceDescriptor(), ShopGrpc.getServiceDescriptor())
                .resources(PlainGrpc.getMoveMethod(), Access.WRITE, request -> List.of(narrow()))
                .unguarded(PlainGrpc.getPingMethod())
                .claimable(resource ->
                        resource.equals("shelves/1/top") ? Optional.of(new LockName("shelves/1")) : Optional.empty())
                .build()
                .routes();
        assertThat(routes.binding("items/7")).isEqualTo(Binding.of("items/7"));
        assertThat(routes.binding("shelves/1/top")).isEqualTo(narrow());
        assertThatThrownBy(() -> routes.binding("shelves/1"))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.WRONG_RESOURCE));
    }

    private static Binding narrow() {
        return new Binding("shelves/1/top", new LockName("shelves/1"));
    }

    /** The Shop service as a program sees it that was built without Palisade's classes: from its descriptor's bytes alone. */
    private static ServiceDescriptor foreign() throws Exception {
        Descriptors.FileDescriptor known = Item.getDescriptor().getFile();
        byte[] bytes =
                FileDescriptorSet.newBuilder().addFile(known.toProto()).build().toByteArray();
        FileDescriptorProto proto = FileDescriptorSet.parseFrom(bytes).getFile(0);
        Descriptors.FileDescriptor file = Descriptors.FileDescriptor.buildFrom(
                proto, known.getDependencies().toArray(Descriptors.FileDescriptor[]::new));
        ServiceDescriptor.Builder service = ServiceDescriptor.newBuilder("shop.Shop");
        for (Descriptors.MethodDescriptor schema :
                file.findServiceByName("Shop").getMethods()) {
            assertThat(schema.getOptions().getUnknownFields().asMap())
                    .as("the option")
                    .isNotEmpty();
            MethodDescriptor<?, ?> method = ShopGrpc.getServiceDescriptor().getMethods().stream()
                    .filter(each -> each.getFullMethodName().endsWith("/" + schema.getName()))
                    .findFirst()
                    .orElseThrow();
            service.addMethod(method.toBuilder()
                    .setSchemaDescriptor(new ForeignMethod(schema))
                    .build());
        }
        return service.build();
    }

    private record ForeignMethod(Descriptors.MethodDescriptor method) implements ProtoMethodDescriptorSupplier {
        @Override
        public Descriptors.MethodDescriptor getMethodDescriptor() {
            return method;
        }

        @Override
        public Descriptors.ServiceDescriptor getServiceDescriptor() {
            return method.getService();
        }

        @Override
        public Descriptors.FileDescriptor getFileDescriptor() {
            return method.getFile();
        }
    }
}
